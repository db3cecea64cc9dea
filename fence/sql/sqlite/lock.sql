-- Parameters: none.
-- Result: none.
-- Promise: changes nothing, and takes the file's write lock to the end of the transaction, unless it has it already.
UPDATE rowlock_lease_fence SET token = token WHERE 0
