-- Parameters: the nonce of the pause, how many microseconds until it ends, twice; namespace, name; of the grant: token, nonce; the nonce of the pause. The names are in base64.
-- Result: one row changed if this grant was replaced by a pause. Error 1205: the row is locked.
-- Promise: replaces only this grant by a pause, and only if the grant has not expired; waits for no other transaction.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET nonce = ?,
       expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       held_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
   AND (nonce = ? AND expires_at > UTC_TIMESTAMP(6) OR nonce = ?)
