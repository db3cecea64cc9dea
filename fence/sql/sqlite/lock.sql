-- Parameters: none.
-- Result: none.
-- Promise: changes nothing. Takes the file's write lock until the transaction ends, unless the transaction already has it.
UPDATE rowlock_lease_fence SET token = token WHERE 0
