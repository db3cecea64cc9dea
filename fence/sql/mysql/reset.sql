-- Parameters: namespace, resource, both in base64, the token that the mark must have.
-- Result: none.
-- Promise: the mark then belongs to no lease, and any token of any domain raises it.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = x'', era = era + 1, sealed_at = UTC_TIMESTAMP(6)
 WHERE namespace = FROM_BASE64(?) AND resource = FROM_BASE64(?) AND token = ?
