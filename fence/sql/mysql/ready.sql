-- Parameters: none.
-- Result: one row: how many sessions may write without a check.
-- Promise: reads only. It fails if the migration is missing. A trigger would notice that only at the next write.
SELECT COUNT(*) FROM rowlock_lease_fence_pass
