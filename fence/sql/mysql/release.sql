-- Parameters: none.
-- Result: none.
-- Promise: removes the savepoint and keeps what was done since.
RELEASE SAVEPOINT rowlock_fence
