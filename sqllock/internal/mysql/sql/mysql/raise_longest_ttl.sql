-- Parameters: in microseconds, how long a lock is about to be closed at most.
-- Result: none.
-- Promise: the value is never lowered, and is committed before any lease of that length is granted.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET longest_ttl_us = GREATEST(longest_ttl_us, ?)
 WHERE id = 1
