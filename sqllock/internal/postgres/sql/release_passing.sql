-- Parameters: $1 to $6 as in release.sql; $7 the id of a waiter's row that the release must not choose, or NULL.
-- Result: as in release.sql.
-- Promise: is release.sql with two differences. The release does not choose the waiter $7. If the chosen waiter has recorded a request and its session is alive, the same statement grants the lock to that request. That grant is durable, and the notification reports it.
WITH ours AS MATERIALIZED (
    -- Every statement locks the row of the lock before the row of a waiter, which prevents deadlocks.
    SELECT least(l.acquired_at, clock_timestamp()) + $5::bigint::float8 * interval '1 microsecond' AS min_held_until, clock_timestamp() AS now
      FROM rowlock_lease l, (SELECT set_config('lock_timeout', '1s', true)) bounded
     WHERE l.namespace = $1::text AND l.name = $2::text
       AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
       FOR UPDATE OF l
), next AS MATERIALIZED (
    -- If a process is withdrawing its request, this read waits until the withdrawal is committed. A session that listens
    -- holds the advisory lock of its channel. If this statement can acquire that lock, the session has ended.
    SELECT w.id, w.channel, w.alive_until, w.nonce, w.holder, w.note, w.ttl_us, w.min_hold_us, w.handover_us
      FROM ours o, rowlock_lease_waiter w
     WHERE w.namespace = $1::text AND w.name = $2::text
       AND w.callable AND w.alive_until > o.now AND w.id IS DISTINCT FROM $7::text::uuid
       AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
     ORDER BY w.since
     LIMIT 1
       FOR UPDATE OF w
), fit AS MATERIALIZED (
    -- The time of the grant is read after both rows are locked, so it is later than the request. If alive_until is more than
    -- 3 s away, the condition above has found that the session lives.
    SELECT o.min_held_until, n.*, m.floor, clock_timestamp() AS now,
           (n.nonce IS NOT NULL AND n.alive_until > clock_timestamp() + interval '3 seconds' AND o.min_held_until <= clock_timestamp()
            AND m.quarantined_until <= clock_timestamp()
            AND m.longest_ttl_us >= greatest(n.ttl_us + n.handover_us, n.min_hold_us)
            AND rowlock_lease_same_epoch(m.epoch)) IS TRUE AS passes
      FROM ours o
      LEFT JOIN next n ON true
      LEFT JOIN rowlock_lease_meta m ON m.id = 1
), b AS MATERIALIZED (
    SELECT f.*,
           CASE WHEN NOT d.durable OR current_setting('synchronous_commit') = 'off'
                THEN set_config('synchronous_commit', CASE WHEN d.durable THEN 'on' ELSE 'off' END, true) END
      FROM fit f, LATERAL (SELECT f.passes OR $6::text IS NOT NULL AS durable) d
), moved AS (
    -- A comment in acquire.sql explains this update.
    UPDATE rowlock_lease_waiter w
       SET callable = false, nonce = NULL
      FROM b
     WHERE b.passes AND w.namespace = $1::text AND w.name = $2::text AND w.id = b.id
)
UPDATE rowlock_lease l
   SET nonce = CASE WHEN b.passes THEN b.nonce END,
       token = CASE WHEN b.passes THEN greatest(l.token + 1, b.floor + 1, (extract(epoch FROM b.now)::float8 * 1e6::float8)::bigint) ELSE l.token END,
       holder = CASE WHEN b.passes THEN b.holder ELSE l.holder END,
       note = CASE WHEN b.passes THEN b.note ELSE l.note END,
       acquired_at = CASE WHEN b.passes THEN b.now ELSE l.acquired_at END,
       expires_at = CASE WHEN b.passes THEN b.now + b.ttl_us::float8 * interval '1 microsecond' ELSE least(l.expires_at, b.now) END,
       reserved_for = CASE WHEN NOT b.passes AND b.min_held_until <= b.now THEN b.id END,
       held_until = CASE WHEN b.passes
                         THEN b.now + greatest(b.ttl_us + b.handover_us, b.min_hold_us)::float8 * interval '1 microsecond'
                         WHEN b.min_held_until > b.now THEN b.min_held_until
                         WHEN b.id IS NULL THEN 'epoch'
                         ELSE b.now + interval '50 milliseconds' END,
       done = coalesce($6::text, l.done)
  FROM b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
RETURNING CASE WHEN b.passes THEN 'released' || pg_notify(b.channel, b.id::text || ' granted')::text
               WHEN b.id IS NULL THEN 'released'
               ELSE 'released' || CASE WHEN b.channel = '' THEN '' ELSE pg_notify(b.channel, b.id::text)::text END || coalesce((
                    SELECT pg_notify(w.channel, w.id::text || ' next')::text
                      FROM rowlock_lease_waiter w
                     WHERE w.namespace = $1::text AND w.name = $2::text
                       AND w.callable AND w.alive_until > b.now AND w.channel <> '' AND w.id <> b.id AND w.id IS DISTINCT FROM $7::text::uuid
                       AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
                     ORDER BY w.since
                     LIMIT 1), '') END
