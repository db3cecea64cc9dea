-- Parameters: the largest token that is about to be pruned.
-- Result: none.
-- Promise: the floor never falls. The raised floor is committed before any row of the batch is deleted. The statement waits for inserts that have read the floor.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta
   SET floor = GREATEST(floor, ?)
 WHERE id = 1
