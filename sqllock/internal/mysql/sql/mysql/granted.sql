-- Parameters: namespace, name, nonce. The names are in base64.
-- Result: one row if the lock is granted to the nonce, else none: its token.
-- Promise: reads only, and waits for no other transaction. For statements that have granted and whose LAST_INSERT_ID a trigger has hidden.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?) AND l.nonce = ?
