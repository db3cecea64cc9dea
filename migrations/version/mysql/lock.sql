-- Parameters: the name of the lock. For Up and Down it is the name of the lease table, and for a SessionLocker its name after the prefix "goose:".
-- Result: one row: 1 if the session has the lock now, else 0.
-- Promise: waits at most 1 s. The key also contains the name of the current database, because all databases of a server share these locks.
SELECT COALESCE(GET_LOCK(CONCAT('rowlock_migrate_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40)), 1), 0)
