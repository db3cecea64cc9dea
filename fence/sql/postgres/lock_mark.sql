-- Parameters: $1 namespace, $2 resource.
-- Result: token and era of the mark, or no row if there is none.
-- Promise: nobody changes the mark before the transaction ends, and every transaction that has checked it has ended.
SELECT f.token, f.era
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   FOR UPDATE
