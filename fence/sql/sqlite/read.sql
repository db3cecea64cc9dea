-- Parameters: ?1 namespace, ?2 resource.
-- Result: token, nonce and domain of the mark, or no row if the resource was never sealed.
-- Promise: reads only.
SELECT f.token, f.nonce, f.domain
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = ?1 AND f.resource = ?2
