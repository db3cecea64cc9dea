-- Parameters: waiter, twice; namespace, name, waiter; namespace, name. The names are in base64.
-- Result: one row changed if the waiter was in line.
-- Promise: a waiter that gives up is in line no more, and a lock that was kept for it and for nobody else is free; waits for nobody. What a value is made of is assigned behind it.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET held_until = IF(waiters = ? AND nonce IS NULL AND held_until = expires_at + INTERVAL 50000 MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', ?), x''), 2), x'')
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND FIND_IN_SET(CONVERT(? USING ascii), waiters) > 0
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
