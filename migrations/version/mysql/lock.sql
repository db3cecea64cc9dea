-- Parameters: key.
-- Result: one row: 1 if the session has the lock now, else 0.
-- Promise: the key contains the name of the schema, because these locks belong to the whole server; waits 1 s at most.
SELECT COALESCE(GET_LOCK(CONCAT('rowlock_migrate_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40)), 1), 0)
