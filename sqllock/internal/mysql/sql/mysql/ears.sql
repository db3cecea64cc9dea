-- Parameters: in this order: a position in the queue, twice; namespace; name. Names are in base64.
-- Result: no row if there is no queue, else one row: the number of the ear of the process at this position, as release.sql returns it, and of the next process, or 0 if there is none; whether nobody holds the lock; whether the lock is reserved; the id of the first process of the queue if it no longer counts as waiting, else an empty text.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       COALESCE(CONV(NULLIF(SUBSTRING(waiters, 37 * ? - 12, 12), x''), 16, 10), 0) AS ear,
       COALESCE(CONV(NULLIF(SUBSTRING(waiters, 37 * ? + 25, 12), x''), 16, 10), 0) AS next_ear,
       nonce IS NULL AS free,
       reserved_for IS NOT NULL AND held_until > UTC_TIMESTAMP(6) AS reserved,
       IF(next_until <= UTC_TIMESTAMP(6), LEFT(waiters, 36), x'') AS gone
  FROM rowlock_lease
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND waiters IS NOT NULL
