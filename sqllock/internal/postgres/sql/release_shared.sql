-- Parameters: $1 namespace; $2 name; $3 nonce; $4 token (0 means any share of that nonce); $5 the id of a waiter's row that the release must not choose, or NULL.
-- Result: one row, 'released', if this share was ended, else no row. In that case released_before.sql reads the reason.
-- Promise: ends only this share, and keeps the other shares that have not expired. The release of the last share frees the lock. It then reserves the lock for 50 ms for the waiter that has waited longest, and notifies that waiter, as release.sql does. The statement waits for the row for at most 1 s. The commit needs no flush, because a release that is lost in a crash delays the next writer by at most one TTL.
UPDATE rowlock_lease l
   SET (nonce, readers, reserved_for, expires_at, held_until) = (
       SELECT CASE WHEN o.shares IS NOT NULL THEN l.nonce END,
              o.shares,
              CASE WHEN o.shares IS NULL THEN b.waiter[1]::uuid END,
              coalesce(o.until, least(l.expires_at, b.now)),
              CASE WHEN o.shares IS NOT NULL THEN o.until
                   WHEN b.waiter IS NULL THEN 'epoch'
                   ELSE b.now + interval '50 milliseconds' END
         FROM (SELECT jsonb_object_agg(r.key, r.value) AS shares,
                      timestamptz 'epoch' + max(r.value::bigint)::float8 * interval '1 microsecond' AS until
                 FROM jsonb_each(l.readers) r
                WHERE r.key <> $3::text AND r.value::bigint > (extract(epoch FROM b.now)::float8 * 1e6::float8)::bigint) o)
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               set_config('synchronous_commit', 'off', true),
               (SELECT ARRAY[w.id::text, w.channel]
                  FROM rowlock_lease_waiter w
                 WHERE w.namespace = $1::text AND w.name = $2::text
                   AND w.callable AND w.alive_until > clock_timestamp() AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint))) AND w.id IS DISTINCT FROM $5::text::uuid
                 ORDER BY w.since
                 LIMIT 1) AS waiter) b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.readers ->> $3::text IS NOT NULL AND $4::bigint IN (0, l.token)
RETURNING CASE WHEN l.reserved_for IS NULL OR b.waiter[2] = '' THEN 'released'
               ELSE 'released' || pg_notify(b.waiter[2], l.reserved_for::text)::text END
