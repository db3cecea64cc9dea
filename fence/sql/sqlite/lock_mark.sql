-- Parameters: ?1 namespace, ?2 resource.
-- Result: token and era (the number of resets) of the mark, or no row if there is none.
-- Promise: reads only. The transaction has the file's write lock, so no other process can write.
SELECT f.token, f.era
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = ?1 AND f.resource = ?2
