-- Parameters: none.
-- Result: none.
-- Promise: outside a transaction, this statement or the following release fails.
SAVEPOINT rowlock_fence
