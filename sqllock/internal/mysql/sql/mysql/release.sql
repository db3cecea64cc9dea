-- Parameters: in this order: minimum hold in microseconds, three times; the tick to record, or NULL; namespace; name; nonce; token (0 means any grant of that nonce); namespace; name. Names and the tick are in base64.
-- Result: one row changed if the grant was ended. If the lock is then reserved, LAST_INSERT_ID is the number of the ear of the process for which it is reserved (the last 12 hexadecimal digits of the id of the process), else 0. If no row changed, released_before.sql reads the reason.
-- Promise: ends only this grant, and keeps the row. MySQL executes the assignments from left to right. The statement is written such that each expression reads the old values of its columns. The release reserves the lock for 50 ms for the first process of the queue, if that process has confirmed in the last three seconds that it waits. There is no reservation if a minimum hold keeps the lock unavailable or the lease has expired. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer. The statement waits for no other transaction on the row of the lock. If another transaction has locked the row, nothing is changed, and released_before.sql returns 'again'.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET reserved_for = CASE
           WHEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6) THEN NULL
           WHEN next_seen_at > UTC_TIMESTAMP(6) - INTERVAL 3 SECOND AND expires_at > UTC_TIMESTAMP(6)
                AND LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0 THEN LEFT(waiters, 36) END,
       held_until = CASE
           WHEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6) THEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
           WHEN waiters IS NOT NULL AND next_seen_at > UTC_TIMESTAMP(6) - INTERVAL 3 SECOND AND expires_at > UTC_TIMESTAMP(6) THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)),
       nonce = NULL,
       done = COALESCE(CONVERT(FROM_BASE64(?) USING utf8mb4) COLLATE utf8mb4_bin, done)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND nonce = ? AND ? IN (0, token)
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
