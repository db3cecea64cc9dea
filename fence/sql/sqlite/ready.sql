-- Parameters: none.
-- Result: one row: the number of passes, which are rows of checked leases and of administrators.
-- Promise: reads only. The statement fails if the migration is missing. Without this statement, only the next write to the protected table would fail.
SELECT COUNT(*) FROM rowlock_lease_fence_pass
