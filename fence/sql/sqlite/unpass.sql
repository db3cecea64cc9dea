-- Parameters: none.
-- Result: none.
-- Promise: nobody passes any more, not by a row either that somebody has left.
DELETE FROM rowlock_lease_fence_pass
