-- Parameters: none.
-- Result: none.
-- Promise: forgets the savepoint and keeps what was done since.
RELEASE SAVEPOINT rowlock_fence
