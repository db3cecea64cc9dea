-- Parameters: none.
-- Result: none.
-- Promise: no lease and no administrator passes afterwards, not even with a row that another process left behind.
DELETE FROM rowlock_lease_fence_pass
