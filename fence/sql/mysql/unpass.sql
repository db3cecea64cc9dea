-- Parameters: none.
-- Result: none.
-- Promise: no lease passes in this session before the next check.
SET @rowlock_nonces = NULL
