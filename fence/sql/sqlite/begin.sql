-- Parameters: none.
-- Result: none.
-- Promise: fails inside of a transaction, and leaves that as it is.
BEGIN
