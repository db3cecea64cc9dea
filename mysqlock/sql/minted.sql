-- Parameters: none.
-- Result: one row: the run of the server that makes the tokens, or an empty text if none has made a token yet; the number and the token with which this run began; the largest token that is reserved.
-- Promise: reads only.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */ m.run, m.number, m.token, m.reserved
  FROM rowlock_lease_mint AS m
 WHERE m.id = 1
