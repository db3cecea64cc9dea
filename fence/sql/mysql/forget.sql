-- Parameters: namespace, resource, both in hexadecimal digits.
-- Result: none.
-- Promise: run behind unused.sql, in one transaction with it. The mark is as if it had never been sealed.
DELETE FROM rowlock_lease_fence
 WHERE namespace = UNHEX(?) AND resource = UNHEX(?)
