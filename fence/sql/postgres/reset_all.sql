-- Parameters: $1 namespace, $2 1 for every namespace, else 0.
-- Result: none.
-- Promise: no mark belongs to a lease, and any token of any domain raises it. Waits for every transaction that has checked one.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1, sealed_at = clock_timestamp()
 WHERE (namespace = $1::text OR $2::bigint = 1) AND token <> 0
