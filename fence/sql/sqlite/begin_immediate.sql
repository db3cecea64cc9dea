-- Parameters: none.
-- Result: none.
-- Promise: the transaction has the file's write lock from the start, or does not begin.
BEGIN IMMEDIATE
