-- Parameters: in this order: token, twice; nonce; token; namespace; name. Names are in base64.
-- Result: no row if the lock has no row, else one row: verdict ('released' if this grant was released before, 'again' if the row still contains this grant, else 'not held').
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN l.nonce IS NULL AND l.token = ? AND ? > 0 THEN 'released'
            WHEN l.nonce = ? AND ? IN (0, l.token) THEN 'again'
            ELSE 'not held' END AS verdict
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
