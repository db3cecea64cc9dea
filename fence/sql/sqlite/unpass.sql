-- Parameters: none.
-- Result: none.
-- Promise: afterwards the triggers accept no write without a new pass: the statement also deletes passes that other processes left behind.
DELETE FROM rowlock_lease_fence_pass
