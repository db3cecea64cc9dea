-- Parameters: none.
-- Result: none.
-- Promise: fails outside a transaction block, where the check would lock the mark only until the end of its own statement.
SAVEPOINT rowlock_check
