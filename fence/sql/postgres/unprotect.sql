-- Parameters: none.
-- Result: none.
-- Promise: the table accepts every write afterwards; a table without the trigger is not changed.
DROP TRIGGER IF EXISTS rowlock_fence ON rowlock_protected
