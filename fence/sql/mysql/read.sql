-- Parameters: namespace, resource, both in base64.
-- Result: token, nonce and domain of the mark, or no row if the resource was never sealed.
-- Promise: reads only, and waits for no transaction.
SELECT f.token, f.nonce, f.domain
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = FROM_BASE64(?) AND f.resource = FROM_BASE64(?)
