-- Parameters: namespace, name, waiter. The names are in hexadecimal digits.
-- Result: one row changed if the waiter was next. Error 1205: the row is locked.
-- Promise: a waiter that gives up is next no more, and a lock that was kept for it is free; waits for nobody. Assignments do not depend on their order.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET held_until = IF(nonce IS NULL AND held_until = expires_at + INTERVAL 50000 MICROSECOND, LEAST(held_until, UTC_TIMESTAMP(6)), held_until),
       reserved_at = NULL
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND reserved_for = ? AND reserved_at IS NOT NULL
