-- Parameters: ?1 namespace, ?2 resource, ?3 the token that the mark must have.
-- Result: none.
-- Promise: the mark then belongs to no lease, and any token of any domain raises it.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1,
       sealed_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
 WHERE namespace = ?1 AND resource = ?2 AND token = ?3
