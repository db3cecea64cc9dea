-- Parameters: nonce, the nonce of the pause, token; namespace, name. The names are in base64.
-- Result: no row if the lock has no row, or one row: verdict 'again' if the grant or its pause is still held, or 'not held'.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN (l.nonce = ? AND l.expires_at > UTC_TIMESTAMP(6) OR l.nonce = ?) AND l.token = ? THEN 'again'
            ELSE 'not held' END AS verdict
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
