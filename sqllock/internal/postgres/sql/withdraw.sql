-- Parameters: $1 namespace; $2 name; $3 nonce.
-- Result: one row, 'withdrawn', if the request of this nonce was recorded in a waiter's row and was not granted, else no row.
-- Promise: no later release grants this request. The statement waits for at most 1 s. The commit needs no flush.
UPDATE rowlock_lease_waiter w
   SET nonce = NULL
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE w.namespace = $1::text AND w.name = $2::text AND w.nonce = $3::text::uuid
RETURNING 'withdrawn'
