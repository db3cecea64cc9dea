-- Parameters: the minimum age of the last grant, in microseconds.
-- Result: none.
-- Promise: raises rowlock_lease_meta.floor to the largest token that prune.sql may delete. Later tokens are larger than the floor.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_meta AS m
   SET m.floor = GREATEST(m.floor, COALESCE(
           (SELECT MAX(c.token) FROM rowlock_lease_counter AS c
             WHERE c.granted_at <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND), 0))
 WHERE m.id = 1
