-- Parameters: none.
-- Result: one row: how many sessions may write without a check.
-- Promise: reads only. The statement fails if the migration is missing. Without this statement, only the next write to the protected table would fail.
SELECT COUNT(*) FROM rowlock_lease_fence_pass
