-- Parameters: namespace, name, waiter; namespace, name. The names are in hexadecimal digits.
-- Result: one row changed if the waiter was next.
-- Promise: a waiter that gives up is next no more, and a lock that was kept for it is free; waits for nobody. Assignments do not depend on their order.
UPDATE rowlock_lease
   SET held_until = IF(nonce IS NULL AND held_until = expires_at + INTERVAL 50000 MICROSECOND, LEAST(held_until, UTC_TIMESTAMP(6)), held_until),
       reserved_at = NULL
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND reserved_for = ? AND reserved_at IS NOT NULL
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = UNHEX(?) AND l.name = UNHEX(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
