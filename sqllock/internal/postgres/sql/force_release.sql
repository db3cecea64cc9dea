-- Parameters: $1 namespace; $2 name; $3 the token of the grant to end; $4 is 1 to end the grant even if its lease has not expired, else 0.
-- Result: one row: verdict 'released', 'leased', 'not held' or 'again'; token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; the number of shares.
-- Promise: ends the grant with this token, or all shares with this token, or the reservation or minimum hold that remains from it. It raises the token, so that the holder is fenced. It reserves the lock for the waiter that has waited longest, and notifies it, as release.sql does. It waits for the row for at most 1 s.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true)
), locked AS MATERIALIZED (
    SELECT l.token, clock_timestamp() AS now,
           (SELECT ARRAY[w.id::text, w.channel]
              FROM rowlock_lease_waiter w
             WHERE w.namespace = $1::text AND w.name = $2::text AND w.callable AND w.alive_until > clock_timestamp() AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
             ORDER BY w.since
             LIMIT 1) AS waiter
      FROM bounded, rowlock_lease l
     WHERE l.namespace = $1::text AND l.name = $2::text AND l.token = $3::bigint
       FOR UPDATE OF l
), ended AS (
    UPDATE rowlock_lease l
       SET nonce = NULL,
           token = greatest(l.token + 1, m.floor + 1, (extract(epoch FROM k.now)::float8 * 1e6::float8)::bigint),
           expires_at = least(l.expires_at, k.now),
           reserved_for = k.waiter[1]::uuid,
           readers = NULL,
           writer_until = NULL,
           held_until = CASE WHEN k.waiter IS NULL THEN 'epoch' ELSE k.now + interval '50 milliseconds' END
      FROM locked k, rowlock_lease_meta m
     WHERE l.namespace = $1::text AND l.name = $2::text AND l.token = k.token
       AND (l.nonce IS NOT NULL OR l.held_until > k.now)
       AND (l.nonce IS NULL OR l.expires_at <= k.now OR $4::bigint = 1)
       AND m.id = 1
 RETURNING CASE WHEN k.waiter[2] <> '' THEN pg_notify(k.waiter[2], k.waiter[1]) END
), seen AS (
    SELECT l.token, l.nonce, l.holder, l.note, l.acquired_at, l.expires_at, l.held_until, l.readers, clock_timestamp() AS now
      FROM rowlock_lease l
     WHERE l.namespace = $1::text AND l.name = $2::text
)
SELECT CASE WHEN EXISTS (SELECT FROM ended) THEN 'released'
            WHEN s.token IS DISTINCT FROM $3::bigint THEN 'not held'
            WHEN s.nonce IS NOT NULL AND s.expires_at > s.now AND $4::bigint = 0 THEN 'leased'
            WHEN s.nonce IS NOT NULL OR s.held_until > s.now THEN 'again'
            ELSE 'not held' END AS verdict,
       coalesce(s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       coalesce((extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint, 0) AS since_us,
       coalesce((extract(epoch FROM greatest(s.held_until, s.now) - s.now)::float8 * 1e6::float8)::bigint, 0) AS free_in_us,
       CASE WHEN s.readers IS NOT NULL
            THEN (SELECT count(*) FROM jsonb_each(s.readers) r WHERE r.value::bigint > (extract(epoch FROM s.now)::float8 * 1e6::float8)::bigint) ELSE 0 END AS readers
  FROM bounded LEFT JOIN seen s ON true
