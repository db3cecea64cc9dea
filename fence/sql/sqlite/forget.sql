-- Parameters: ?1 namespace, ?2 resource.
-- Result: none.
-- Promise: runs after unused.sql, in the same transaction. Afterwards the resource is like one that was never sealed.
DELETE FROM rowlock_lease_fence
 WHERE namespace = ?1 AND resource = ?2
