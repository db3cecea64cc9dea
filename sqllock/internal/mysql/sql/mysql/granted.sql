-- Parameters: namespace, name, nonce. The names are in base64.
-- Result: one row if the lock is granted to the nonce, else no row: the token of the grant.
-- Promise: reads only, and waits for no other transaction. It reads the token of a grant when a trigger has hidden LAST_INSERT_ID.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?) AND l.nonce = ?
