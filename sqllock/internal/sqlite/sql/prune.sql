-- Parameters: ?1 the time, in microseconds since 1970. Only locks that were already free at that time are deleted.
-- Result: the number of deleted rows.
-- Promise: runs after raise_floor.sql, in the same transaction.
DELETE FROM rowlock_lease WHERE max(held_until, expires_at) <= ?1
