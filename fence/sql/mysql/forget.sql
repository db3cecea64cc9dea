-- Parameters: namespace, resource, both in base64.
-- Result: none.
-- Promise: runs after unused.sql, in the same transaction. Afterwards the resource is like one that was never sealed.
DELETE FROM rowlock_lease_fence
 WHERE namespace = FROM_BASE64(?) AND resource = FROM_BASE64(?)
