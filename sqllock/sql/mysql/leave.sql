-- Parameters: waiter, twice; namespace, name, waiter; namespace, name. The names are in hexadecimal digits.
-- Result: one row changed if the waiter was in line.
-- Promise: a waiter that gives up is in line no more, and a lock that was kept for it and for nobody else is free; waits for nobody. What a value is made of is assigned behind it.
UPDATE rowlock_lease
   SET held_until = IF(waiters = ? AND nonce IS NULL AND held_until = expires_at + INTERVAL 50000 MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', ?), ''), 2), '')
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND FIND_IN_SET(?, waiters) > 0
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = UNHEX(?) AND l.name = UNHEX(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
