-- Parameters: none.
-- Result: none.
-- Promise: inside a transaction, fails and does not change it.
BEGIN
