-- Parameters: in this order: the nonce of the pause; the microseconds until the pause ends, twice; namespace; name; token and nonce of the grant; the nonce of the pause. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if this grant was replaced by a pause. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: replaces only this grant by a pause, and only if the grant has not expired. It waits for no other transaction on the row of the lock.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET nonce = ?,
       expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       held_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
   AND (nonce = ? AND expires_at > UTC_TIMESTAMP(6) OR nonce = ?)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
