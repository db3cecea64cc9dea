-- Parameters: ?1 namespace, ?2 resource.
-- Result: none.
-- Promise: run behind unused.sql, in one transaction with it. The mark is as if it had never been sealed.
DELETE FROM rowlock_lease_fence
 WHERE namespace = ?1 AND resource = ?2
