-- Parameters: none.
-- Result: none.
-- Promise: the branch is no longer active, and can be rolled back.
XA END 'rowlock'
