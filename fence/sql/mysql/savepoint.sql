-- Parameters: none.
-- Result: none.
-- Promise: outside a transaction, this statement or the RELEASE SAVEPOINT that follows fails.
SAVEPOINT rowlock_fence
