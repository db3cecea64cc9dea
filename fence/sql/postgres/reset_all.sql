-- Parameters: $1 namespace; $2 is 1 to select the marks of every namespace, and 0 to select those of $1.
-- Result: none.
-- Promise: the marks then belong to no lease, and any token of any domain raises them. Waits for every transaction that has checked one of the marks.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1, sealed_at = clock_timestamp()
 WHERE (namespace = $1::text OR $2::bigint = 1) AND token <> 0
