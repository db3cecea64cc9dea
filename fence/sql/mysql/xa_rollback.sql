-- Parameters: none.
-- Result: none.
-- Promise: the branch ends; nothing was done in it.
XA ROLLBACK 'rowlock'
