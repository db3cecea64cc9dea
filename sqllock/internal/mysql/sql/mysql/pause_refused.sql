-- Parameters: in this order: the nonce of the grant; the nonce of the pause; the token of the grant; namespace; name. Names are in base64.
-- Result: no row if the lock has no row, else one row: verdict 'again' if the grant has not expired or is already paused, else 'not held'.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN (l.nonce = ? AND l.expires_at > UTC_TIMESTAMP(6) OR l.nonce = ?) AND l.token = ? THEN 'again'
            ELSE 'not held' END AS verdict
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
