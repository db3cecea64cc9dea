-- Parameters: waiter; namespace, name, waiter; namespace, name. The names are in hexadecimal digits.
-- Result: one row changed if the waiter is next.
-- Promise: takes no other waiter's place that was seen in the last three seconds, and none when nobody holds the lock; waits for nobody.
UPDATE rowlock_lease
   SET reserved_for = ?,
       reserved_at = UTC_TIMESTAMP(6)
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND nonce IS NOT NULL
   AND (reserved_for = ? OR reserved_at IS NULL OR reserved_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND)
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = UNHEX(?) AND l.name = UNHEX(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
