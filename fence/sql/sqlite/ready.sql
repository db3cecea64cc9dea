-- Parameters: none.
-- Result: one row: how many leases and administrators may write.
-- Promise: reads only. It fails if the migration is missing. A trigger would notice that only at the next write.
SELECT COUNT(*) FROM rowlock_lease_fence_pass
