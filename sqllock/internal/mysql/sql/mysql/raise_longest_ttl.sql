-- Parameters: the time, in microseconds, for which a grant may keep a lock unavailable without a renewal.
-- Result: none.
-- Promise: the stored value never falls. The raised value is committed before a grant may keep a lock unavailable for that time.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET longest_ttl_us = GREATEST(longest_ttl_us, ?)
 WHERE id = 1
