-- Parameters: none.
-- Result: none.
-- Promise: protected tables accept no lease in this session before the next check.
SET @rowlock_nonces = NULL
