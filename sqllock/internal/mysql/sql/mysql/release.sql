-- Parameters: in this order: namespace; name; nonce; token (0 means any grant of that nonce); minimum hold in microseconds, three times; the tick to record, or NULL. Names and the tick are in base64.
-- Result: more than zero rows if the grant was ended. LAST_INSERT_ID is the number of the ear of the first process in the queue (the last 12 hexadecimal digits of the id of the process), or 0 if there is no queue. If the number of rows is 0, released_before.sql reads the reason.
-- Promise: ends only this grant, and keeps the row. The selected row exists already, so nothing is inserted. The new values are computed from the selected row (l), so the order of the assignments does not matter. The release reserves the lock for 50 ms for the first process of the queue, if that process counts as waiting. There is no reservation if a minimum hold keeps the lock unavailable or the lease has expired. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer. The statement waits for no other transaction on the row of the lock. If another transaction has locked the row, nothing is changed, and released_before.sql returns 'again'.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
SELECT l.namespace, l.name, 0, x'', x'', l.acquired_at, l.expires_at, l.held_until
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND l.nonce = ? AND ? IN (0, l.token)
   FOR UPDATE SKIP LOCKED
    ON DUPLICATE KEY UPDATE
       reserved_for = IF(LAST_INSERT_ID(CONV(SUBSTRING(l.waiters, 25, 12), 16, 10)) >= 0
           AND LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6)
           AND l.next_until > UTC_TIMESTAMP(6) AND l.expires_at > UTC_TIMESTAMP(6),
           LEFT(l.waiters, 36), NULL),
       held_until = CASE
           WHEN LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6) THEN LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
           WHEN l.waiters IS NOT NULL AND l.next_until > UTC_TIMESTAMP(6) AND l.expires_at > UTC_TIMESTAMP(6) THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       expires_at = LEAST(l.expires_at, UTC_TIMESTAMP(6)),
       nonce = NULL,
       done = COALESCE(CONVERT(FROM_BASE64(?) USING utf8mb4) COLLATE utf8mb4_bin, l.done)
