-- Parameters: in this order: minimum hold in microseconds, three times; the tick to record, or NULL; namespace; name; nonce; token (0 means any grant of that nonce). Names and the tick are in base64.
-- Result: one row changed if the grant was ended. LAST_INSERT_ID is the number of the ear of the first process in the queue (the last 12 hexadecimal digits of the id of the process), or 0 if there is no queue. If no row changed, released_before.sql reads the reason. Error 1205: another transaction has locked the row.
-- Promise: ends only this grant, and keeps the row. An expression reads only columns that are assigned after it, so it reads their old values. The release reserves the lock for 50 ms for the first process of the queue, if that process counts as waiting. There is no reservation if a minimum hold keeps the lock unavailable or the lease has expired. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer. The statement waits for at most one second for a transaction that has locked the row.
SET STATEMENT innodb_lock_wait_timeout = 1 FOR
UPDATE rowlock_lease
   SET reserved_for = IF(LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0
           AND LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6)
           AND next_until > UTC_TIMESTAMP(6) AND expires_at > UTC_TIMESTAMP(6),
           LEFT(waiters, 36), NULL),
       held_until = CASE
           WHEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6) THEN LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
           WHEN waiters IS NOT NULL AND next_until > UTC_TIMESTAMP(6) AND expires_at > UTC_TIMESTAMP(6) THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)),
       nonce = NULL,
       done = COALESCE(CONVERT(FROM_BASE64(?) USING utf8mb4) COLLATE utf8mb4_bin, done)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND nonce = ? AND ? IN (0, token)
