-- Parameters: none.
-- Result: none.
-- Promise: afterwards the trigger does not exist.
DROP TRIGGER IF EXISTS rowlock_protected_fence_insert
