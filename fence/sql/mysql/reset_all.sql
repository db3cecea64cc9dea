-- Parameters: namespace in hexadecimal digits, 1 for every namespace, else 0.
-- Result: none.
-- Promise: no mark is any lease's, and every token of every domain raises each. Waits for every transaction that has checked one.
UPDATE rowlock_lease_fence
   SET token = 0, nonce = '00000000-0000-0000-0000-000000000000', domain = '', era = era + 1, sealed_at = UTC_TIMESTAMP(6)
 WHERE (namespace = UNHEX(?) OR ? = 1) AND token <> 0
