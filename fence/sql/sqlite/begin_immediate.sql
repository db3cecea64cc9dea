-- Parameters: none.
-- Result: none.
-- Promise: the transaction has the file's write lock from its beginning, or there is none.
BEGIN IMMEDIATE
