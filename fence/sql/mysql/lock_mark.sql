-- Parameters: namespace, resource, both in base64.
-- Result: token and era (the number of resets) of the mark, or no row if there is none.
-- Promise: no other transaction changes the mark until this transaction ends, and every transaction that has checked the mark has ended.
SELECT f.token, f.era
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = FROM_BASE64(?) AND f.resource = FROM_BASE64(?)
   FOR UPDATE
