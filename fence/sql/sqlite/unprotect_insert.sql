-- Parameters: none.
-- Result: none.
-- Promise: the trigger does not exist afterwards.
DROP TRIGGER IF EXISTS rowlock_protected_fence_insert
