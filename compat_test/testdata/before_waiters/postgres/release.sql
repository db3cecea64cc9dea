-- Parameters: $1 namespace, $2 name, $3 nonce, $4 token (0: any of that nonce), $5 minimum hold in microseconds.
-- Result: one row, 'released', if this grant was ended, else none: released_before.sql tells why.
-- Promise: ends this grant only; the row stays; waits at most 1 s for the row; needs no flush, because a release lost in a crash costs one TTL.
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = least(l.expires_at, b.now),
       held_until = greatest(b.now, l.acquired_at + $5::bigint * interval '1 microsecond')
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               set_config('synchronous_commit', 'off', true)) b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
RETURNING 'released'
