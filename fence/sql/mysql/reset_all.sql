-- Parameters: namespace in base64; 1 to select the marks of every namespace, 0 to select those of the first parameter.
-- Result: none.
-- Promise: the marks then belong to no lease, and any token of any domain raises them. Waits for every transaction that has checked one of the marks. Because of the LIMIT, it also runs in a session with sql_safe_updates.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = x'', era = era + 1, sealed_at = UTC_TIMESTAMP(6)
 WHERE (namespace = FROM_BASE64(?) OR ? = 1) AND token <> 0
 LIMIT 9223372036854775807
