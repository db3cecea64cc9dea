-- Parameters: namespace, resource, both in base64.
-- Result: none.
-- Promise: run behind unused.sql, in one transaction with it. The mark is as if it had never been sealed.
DELETE FROM rowlock_lease_fence
 WHERE namespace = FROM_BASE64(?) AND resource = FROM_BASE64(?)
