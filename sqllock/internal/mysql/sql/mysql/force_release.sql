-- Parameters: in this order: namespace; name; the token of the grant to end; 1 to end the grant even if its lease has not expired, else 0. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if the grant was ended. LAST_INSERT_ID is the number of an ear, or 0, as in release.sql. If no row changed, force_refused.sql reads the reason. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: ends the grant with this token, or all shares with this token, or the reservation or minimum hold that remains from it. It raises the token, so that the holder is fenced. It reserves the lock for a waiter as release.sql does. It waits for no other transaction on the row of the lock.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET token = GREATEST(
           token + 1,
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = 1 /*!80000 FOR SHARE SKIP LOCKED */), 0),
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       reserved_for = IF(LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0
           AND next_until > UTC_TIMESTAMP(6) AND nonce IS NOT NULL AND expires_at > UTC_TIMESTAMP(6),
           LEFT(waiters, 36), NULL),
       held_until = IF(waiters IS NOT NULL AND next_until > UTC_TIMESTAMP(6) AND nonce IS NOT NULL AND expires_at > UTC_TIMESTAMP(6),
           UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND, TIMESTAMP'1970-01-01 00:00:00'),
       nonce = NULL,
       readers = NULL,
       writer_until = NULL,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6))
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
   AND (nonce IS NOT NULL OR held_until > UTC_TIMESTAMP(6))
   AND (nonce IS NULL OR expires_at <= UTC_TIMESTAMP(6) OR ? = 1)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
