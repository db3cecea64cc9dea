-- Parameters: none.
-- Result: none.
-- Promise: removes the savepoint.
RELEASE SAVEPOINT rowlock_check
