-- Parameters: minimum hold in microseconds; the tick that is done, in base64, or NULL; namespace, name of the lock, both in base64; nonce, token.
-- Result: none; one row changed if the lease was alive and is now released.
-- Promise: the commit ends this lease and no other lease, and records the tick. The row stays. No other process acquires the lock before the commit.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET nonce = NULL,
       expires_at = UTC_TIMESTAMP(6),
       held_until = COALESCE(NULLIF(GREATEST(UTC_TIMESTAMP(6), LEAST(acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND), UTC_TIMESTAMP(6)), TIMESTAMP'1970-01-01 00:00:00'),
       done = COALESCE(CONVERT(FROM_BASE64(?) USING utf8mb4) COLLATE utf8mb4_bin, done)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND nonce = ? AND token = ? AND expires_at > UTC_TIMESTAMP(6)
