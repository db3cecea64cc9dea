-- Parameters: none.
-- Result: none.
-- Promise: the trigger is gone, or was not there.
DROP TRIGGER IF EXISTS rowlock_protected_fence_update
