-- Parameters: in this order: namespace; name; nonce; the path of the nonce among the shares. Names are in base64.
-- Result: no row if neither the lock nor a share is granted to this nonce, else one row: token; the last recorded tick, or an empty text.
-- Promise: reads only, and waits for no other transaction. It is needed when the row contains a tick, or when a trigger has hidden LAST_INSERT_ID.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, COALESCE(CAST(l.done AS BINARY), x'') AS done
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND (l.nonce = ? OR JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(? USING utf8mb4)))
