-- Parameters: none.
-- Result: none.
-- Promise: the branch can be rolled back.
XA END 'rowlock'
