-- Parameters: none.
-- Result: one row: how many leases and administrators pass.
-- Promise: reads only. It fails where the migration is missing, which a trigger would notice no sooner than the next write.
SELECT COUNT(*) FROM rowlock_lease_fence_pass
