-- Parameters: the name of the lock. For Up and Down it is the name of the lease table, and for a SessionLocker its name after the prefix "goose:".
-- Result: one row: 1 if the session had the lock, else 0.
-- Promise: releases the lock once. A session that has acquired the lock twice must release it twice.
SELECT COALESCE(RELEASE_LOCK(CONCAT('rowlock_migrate_', LEFT(SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 256), 40))), 0)
