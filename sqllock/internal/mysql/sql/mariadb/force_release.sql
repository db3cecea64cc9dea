-- Parameters: in this order: namespace; name; the token of the grant to end; 1 to end the grant even if its lease has not expired, else 0. Names are in base64.
-- Result: one row changed if the grant was ended. If the lock is then reserved, LAST_INSERT_ID is the number of an ear, as in release.sql. If no row changed, force_refused.sql reads the reason. Error 1205: another transaction has locked the row.
-- Promise: ends the grant with this token, or all shares with this token, or the reservation or minimum hold that remains from it. It raises the token, so that the holder is fenced. It reserves the lock for a waiter as release.sql does. It waits for no other transaction.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET token = GREATEST(
           token + 1,
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = 1), 0),
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       reserved_for = IF(next_seen_at > UTC_TIMESTAMP(6) - INTERVAL 3 SECOND AND nonce IS NOT NULL AND expires_at > UTC_TIMESTAMP(6)
           AND LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0,
           LEFT(waiters, 36), NULL),
       held_until = IF(waiters IS NOT NULL AND next_seen_at > UTC_TIMESTAMP(6) - INTERVAL 3 SECOND AND nonce IS NOT NULL AND expires_at > UTC_TIMESTAMP(6),
           UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND, TIMESTAMP'1970-01-01 00:00:00'),
       nonce = NULL,
       readers = NULL,
       writer_until = NULL,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6))
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
   AND (nonce IS NOT NULL OR held_until > UTC_TIMESTAMP(6))
   AND (nonce IS NULL OR expires_at <= UTC_TIMESTAMP(6) OR ? = 1)
