-- Parameters: namespace, resource, both in hexadecimal digits.
-- Result: token and nonce of the mark, or no row if the resource was never sealed.
-- Promise: reads only, and waits for nobody.
SELECT f.token, f.nonce
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = UNHEX(?) AND f.resource = UNHEX(?)
