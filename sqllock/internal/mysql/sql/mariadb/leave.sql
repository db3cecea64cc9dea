-- Parameters: waiter, twice; namespace, name, waiter. The names are in base64.
-- Result: one row changed if the waiter was in line. Error 1205: the row is locked.
-- Promise: a waiter that gives up is in line no more, and a lock that was kept for it and for nobody else is free; waits for nobody. What a value is made of is assigned behind it.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET held_until = IF(waiters = ? AND nonce IS NULL AND held_until = expires_at + INTERVAL 50000 MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', held_until),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', ?), x''), 2), x'')
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND FIND_IN_SET(CONVERT(? USING ascii), waiters) > 0
