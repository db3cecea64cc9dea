-- Parameters: ?1 the time, in microseconds since 1970, before which a lock must have been free.
-- Result: the number of rows deleted.
-- Promise: runs after raise_floor.sql, in its transaction.
DELETE FROM rowlock_lease WHERE max(held_until, expires_at) <= ?1
