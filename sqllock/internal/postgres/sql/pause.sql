-- Parameters: $1 namespace; $2 name; $3 nonce and $4 token of the grant; $5 the nonce of the pause; $6 the microseconds until the pause ends.
-- Result: one row, 'paused', if this grant was replaced by a pause, else no row.
-- Promise: replaces only this grant by a pause, and only if the grant has not expired. It waits for the row for at most 1 s. A pause is durable.
UPDATE rowlock_lease l
   SET nonce = $5::text::uuid,
       expires_at = b.now + $6::bigint::float8 * interval '1 microsecond',
       held_until = b.now + $6::bigint::float8 * interval '1 microsecond'
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END) b
 WHERE l.namespace = $1::text AND l.name = $2::text AND l.token = $4::bigint
   AND (l.nonce = $3::text::uuid AND l.expires_at > clock_timestamp() OR l.nonce = $5::text::uuid)
RETURNING 'paused'
