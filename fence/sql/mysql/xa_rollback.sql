-- Parameters: none.
-- Result: none.
-- Promise: the branch ends. It had no statements.
XA ROLLBACK 'rowlock'
