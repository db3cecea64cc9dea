-- Parameters: ?1 namespace; ?2 is 1 to select the marks of every namespace, and 0 to select those of ?1.
-- Result: none.
-- Promise: the marks then belong to no lease, and any token of any domain raises them.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1,
       sealed_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
 WHERE (namespace = ?1 OR ?2 = 1) AND token <> 0
