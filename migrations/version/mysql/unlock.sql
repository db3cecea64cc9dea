-- Parameters: key.
-- Result: one row: 1 if the session had the lock, else 0.
-- Promise: one lock needs one unlock.
SELECT COALESCE(RELEASE_LOCK(CONCAT('rowlock_migrate_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40))), 0)
