-- Parameters: none.
-- Result: none.
-- Promise: the branch is gone; nothing was done in it.
XA ROLLBACK 'rowlock'
