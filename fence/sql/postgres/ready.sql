-- Parameters: none.
-- Result: one row, to be ignored.
-- Promise: reads only. The statement fails if the migration is missing.
SELECT 'rowlock_lease_fence_check'::regproc::oid::bigint
