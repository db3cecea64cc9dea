-- Parameters: waiter; namespace, name, waiter. The names are in hexadecimal digits.
-- Result: one row changed if the waiter is next. Error 1205: the row is locked.
-- Promise: takes no other waiter's place that was seen in the last three seconds, and none when nobody holds the lock; waits for nobody.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET reserved_for = ?,
       reserved_at = UTC_TIMESTAMP(6)
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND nonce IS NOT NULL
   AND (reserved_for = ? OR reserved_at IS NULL OR reserved_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND)
