-- Parameters: none.
-- Result: none.
-- Promise: removes the savepoint and keeps the changes that were made after it.
RELEASE SAVEPOINT rowlock_fence
