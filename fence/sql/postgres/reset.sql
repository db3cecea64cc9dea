-- Parameters: $1 namespace, $2 resource, $3 the token that the mark must have.
-- Result: none.
-- Promise: the mark then belongs to no lease, and any token of any domain raises it.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1, sealed_at = clock_timestamp()
 WHERE namespace = $1::text AND resource = $2::text AND token = $3::bigint
