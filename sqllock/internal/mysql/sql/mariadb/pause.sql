-- Parameters: in this order: the nonce of the pause; the microseconds until the pause ends, twice; namespace; name; token and nonce of the grant; the nonce of the pause. Names are in base64.
-- Result: one row changed if this grant was replaced by a pause. Error 1205: another transaction has locked the row.
-- Promise: replaces only this grant by a pause, and only if the grant has not expired. It waits for no other transaction.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET nonce = ?,
       expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       held_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
   AND (nonce = ? AND expires_at > UTC_TIMESTAMP(6) OR nonce = ?)
