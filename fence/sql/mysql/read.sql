-- Parameters: namespace, resource, both in hexadecimal digits.
-- Result: token, nonce and domain of the mark, the last in hexadecimal digits, or no row if the resource was never sealed.
-- Promise: reads only, and waits for nobody.
SELECT f.token, f.nonce, LOWER(HEX(f.domain))
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = UNHEX(?) AND f.resource = UNHEX(?)
