-- Parameters: none.
-- Result: none.
-- Promise: the table takes every write again, and a table that did is left as it is.
DROP TRIGGER IF EXISTS rowlock_fence ON rowlock_protected
