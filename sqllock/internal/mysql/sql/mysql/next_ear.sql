-- Parameters: in this order: namespace; name. Both are in base64.
-- Result: one row with the number of the ear of the first process in the queue, as release.sql returns it. No row if there is no queue.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */ CONV(SUBSTRING(waiters, 25, 12), 16, 10)
  FROM rowlock_lease
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND waiters IS NOT NULL
