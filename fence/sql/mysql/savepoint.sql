-- Parameters: none.
-- Result: none.
-- Promise: outside of a transaction it fails, or the release behind it does.
SAVEPOINT rowlock_fence
