-- Parameters: in this order: namespace; name; nonce. Names are in base64.
-- Result: one row with the token and the last tick that is done, or an empty text, if the lock is granted to this nonce, else no row.
-- Promise: reads only, and waits for no other transaction. It is needed when a tick is done, or when a trigger has hidden LAST_INSERT_ID.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, COALESCE(CAST(l.done AS BINARY), x'') AS done
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?) AND l.nonce = ?
