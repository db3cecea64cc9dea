-- Parameters: $1 namespace; $2 name; $3 nonce; $4 holder; $5 note; $6 TTL in microseconds; $7 the id of the waiter's row, or NULL; $8 the channel on which the process listens, or an empty text.
-- Result: the columns of acquire.sql.
-- Promise: grants a share and keeps the other shares that have not expired, or writes nothing. If the lock has no row, the verdict is 'missing'. The first share raises the token, and later shares join. A share joins only if no writer waits. A refused request puts the waiter's row into the queue, but is not recorded there. A lock that is reserved for this waiter is granted to it. A grant notifies the next waiter. The statement waits for at most 1 s for the row of a shared lock, and for at most 100 ms for any other row. A grant is durable.
WITH seen AS MATERIALIZED (
    -- The comments in acquire.sql explain the parts that have no comment here. A transaction can lock the row of a free
    -- lock for a long time, but not the row of a shared lock. If all shares have expired, the lock is free.
    SELECT m.floor,
           rowlock_lease_same_epoch(m.epoch) AS same_epoch,
           m.longest_ttl_us >= $6::bigint AS ttl_known,
           m.quarantined_until,
           l.token, l.nonce, l.holder, l.note, l.acquired_at, l.expires_at, l.held_until, l.reserved_for, l.readers, l.writer_until,
           (l.readers ->> $3::text IS NOT NULL AND l.held_until > clock_timestamp()
            OR l.nonce IS NULL AND l.reserved_for = $7::text::uuid) IS TRUE AS ahead_of_writers,
           set_config('lock_timeout', CASE WHEN l.readers IS NOT NULL AND l.held_until > clock_timestamp() THEN '1s' ELSE '100ms' END, true),
           clock_timestamp() AS now
      FROM rowlock_lease_meta m
      LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE m.id = 1
), locked AS MATERIALIZED (
    -- All columns come from the locked version of the row. The snapshot of this statement may lack the newest shares.
    SELECT l.token, l.acquired_at, l.held_until, l.readers, s.floor,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND (l.readers ->> $3::text IS NOT NULL AND l.held_until > clock_timestamp()
            OR l.nonce IS NULL AND l.reserved_for = $7::text::uuid
            OR (l.readers IS NOT NULL OR l.held_until <= clock_timestamp())
               AND (l.writer_until IS NULL OR l.writer_until <= clock_timestamp()))
       FOR UPDATE OF l
), timed AS MATERIALIZED (
    -- The clock is read once, after the row is locked.
    SELECT k.*, clock_timestamp() AS now FROM locked k
), epoch AS MATERIALIZED (
    SELECT k.now,
           (extract(epoch FROM k.now)::float8 * 1e6::float8)::bigint AS now_us,
           k.readers IS NOT NULL AND k.held_until > k.now AS joins,
           k.readers ->> $3::text IS NOT NULL AND k.held_until > k.now AS again,
           k.readers, k.acquired_at,
           CASE WHEN k.readers IS NOT NULL AND k.held_until > k.now THEN k.token
                ELSE greatest(k.token + 1, k.floor + 1, (extract(epoch FROM k.now)::float8 * 1e6::float8)::bigint) END AS token
      FROM timed k
), shared AS MATERIALIZED (
    SELECT e.token, e.again, e.now,
           CASE WHEN e.joins THEN e.acquired_at ELSE e.now END AS acquired_at,
           coalesce(o.shares, '{}'::jsonb) || pg_catalog.jsonb_build_object($3::text, e.now_us + $6::bigint) AS readers,
           timestamptz 'epoch' + greatest(e.now_us + $6::bigint, o.last)::float8 * interval '1 microsecond' AS until
      FROM epoch e
     CROSS JOIN LATERAL (
           SELECT jsonb_object_agg(r.key, r.value) AS shares, max(r.value::bigint) AS last
             FROM jsonb_each(e.readers) r
            WHERE r.key <> $3::text AND r.value::bigint > e.now_us) o
), won AS (
    UPDATE rowlock_lease l
       SET token = k.token,
           nonce = ('0000000000000000' || lpad(to_hex(k.token), 16, '0'))::uuid,
           holder = $4::text,
           note = $5::text,
           reserved_for = NULL,
           readers = k.readers,
           acquired_at = k.acquired_at,
           expires_at = k.until,
           held_until = k.until
      FROM shared k
     WHERE l.namespace = $1::text AND l.name = $2::text
 RETURNING l.token, l.done, k.again
), queued AS (
    UPDATE rowlock_lease_waiter w
       SET callable = true, since = clock_timestamp(), alive_until = greatest(w.alive_until, clock_timestamp() + interval '3 seconds'), channel = $8::text
      FROM seen s
     WHERE s.token IS NOT NULL AND NOT EXISTS (SELECT FROM locked)
       AND w.namespace = $1::text AND w.name = $2::text AND w.id = $7::text::uuid AND NOT w.callable
), moved AS (
    -- A comment in acquire.sql explains this update.
    UPDATE rowlock_lease_waiter w
       SET callable = false, nonce = NULL
      FROM won, seen s
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id IN ($7::text::uuid, s.reserved_for)
)
SELECT CASE WHEN g.token IS NOT NULL THEN
                 -- A notified reader joins, and notifies the next waiter. A notified writer makes later readers wait.
                 'granted' || CASE WHEN g.again THEN '' ELSE coalesce((
                     SELECT pg_notify(n.channel, n.id::text)::text
                       FROM (SELECT w.channel, w.id
                               FROM rowlock_lease_waiter w
                              WHERE w.namespace = $1::text AND w.name = $2::text
                                AND w.callable AND w.alive_until > s.now AND (w.alive_until <= s.now + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint))) AND w.channel <> '' AND w.id IS DISTINCT FROM $7::text::uuid
                              ORDER BY w.since
                              LIMIT 1) n), '') END
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.held_until > s.now AND s.readers IS NULL
                 AND (s.reserved_for = $7::text::uuid) IS NOT TRUE THEN
                 CASE WHEN s.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN s.nonce IS NULL THEN 'min hold'
                      WHEN s.expires_at > s.now THEN 'leased'
                      ELSE 'handover' END
            WHEN s.quarantined_until > s.now THEN 'quarantine'
            WHEN NOT s.ttl_known THEN 'ttl'
            WHEN s.token IS NULL THEN 'missing'
            WHEN s.writer_until > s.now AND NOT s.ahead_of_writers THEN 'reserved'
            ELSE 'contended' END AS verdict,
       coalesce(g.token, s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       CASE WHEN g.token IS NULL AND s.token > 0
            THEN (extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       CASE WHEN g.token IS NULL
            THEN (extract(epoch FROM greatest(CASE WHEN s.readers IS NULL THEN s.held_until END, s.writer_until, s.quarantined_until, s.now) - s.now)::float8 * 1e6::float8)::bigint ELSE 0 END AS free_in_us,
       coalesce(g.done, '') AS done,
       CASE WHEN g.token IS NULL AND s.readers IS NOT NULL
            THEN (SELECT count(*) FROM jsonb_each(s.readers) r WHERE r.value::bigint > (extract(epoch FROM s.now)::float8 * 1e6::float8)::bigint) ELSE 0 END AS readers,
       CASE WHEN g.token IS NULL AND $7::text IS NOT NULL
            THEN (SELECT count(*)
                    FROM rowlock_lease_waiter w
                    JOIN rowlock_lease_waiter own ON own.namespace = w.namespace AND own.name = w.name AND own.id = $7::text::uuid
                   WHERE w.namespace = $1::text AND w.name = $2::text AND (w.since < own.since OR NOT own.callable) AND w.callable AND w.alive_until > s.now) ELSE 0 END AS ahead,
       EXISTS (SELECT FROM rowlock_lease_waiter w WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $7::text::uuid AND w.callable) AS there
  FROM seen s LEFT JOIN won g ON true
