-- Parameters: $1 namespace, $2 resource.
-- Result: token, nonce and domain of the mark, or no row if the resource was never sealed.
-- Promise: reads only, and waits for no transaction.
SELECT f.token, f.nonce::text, f.domain
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
