-- Parameters: $1 namespace, $2 name, $3 nonce.
-- Result: one row, 'withdrawn', if a waiter had deposited the request of this nonce and it was not granted, else no row.
-- Promise: no release grants this request any longer; needs no flush; waits at most 1 s.
UPDATE rowlock_lease_waiter w
   SET nonce = NULL
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE w.namespace = $1::text AND w.name = $2::text AND w.nonce = $3::text::uuid
RETURNING 'withdrawn'
