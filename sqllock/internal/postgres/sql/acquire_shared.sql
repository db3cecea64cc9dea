-- Parameters: $1 namespace; $2 name; $3 nonce; $4 holder; $5 note; $6 TTL in microseconds; $7 the id of the waiter's row, or NULL.
-- Result: the columns of acquire.sql, and then: how many waiters have waited longer; the id of the waiter that missed its reservation of the lock, or an empty text.
-- Promise: grants a share and keeps the other shares that have not expired, or writes nothing. The first share raises the token, and later shares join. A share joins only if no writer waits. A lock that is reserved for this waiter is granted to it. A grant notifies the next waiter. The statement waits for at most 1 s for the row of a shared lock, and for at most 100 ms for any other row. A grant is durable.
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
           set_config('lock_timeout', CASE WHEN l.readers IS NOT NULL AND l.held_until > clock_timestamp() THEN '1s' WHEN l.token IS NULL THEN '25ms' ELSE '100ms' END, true),
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
), unpruned AS MATERIALIZED (
    SELECT m.floor, clock_timestamp() AS now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease_meta m ON m.id = 1
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND s.token IS NULL
       FOR SHARE OF m SKIP LOCKED
), began AS MATERIALIZED (
    SELECT t.now, t.now_us, greatest(t.floor + 1, t.now_us) AS token
      FROM (SELECT u.floor, u.now, (extract(epoch FROM u.now)::float8 * 1e6::float8)::bigint AS now_us FROM unpruned u) t
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
), inserted AS (
    INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until, readers)
    SELECT $1::text, $2::text, b.token,
           ('0000000000000000' || lpad(to_hex(b.token), 16, '0'))::uuid, $4::text, $5::text,
           b.now,
           timestamptz 'epoch' + (b.now_us + $6::bigint)::float8 * interval '1 microsecond',
           timestamptz 'epoch' + (b.now_us + $6::bigint)::float8 * interval '1 microsecond',
           pg_catalog.jsonb_build_object($3::text, b.now_us + $6::bigint)
      FROM began b
        ON CONFLICT (namespace, name) DO NOTHING
 RETURNING l.token
), granted AS (
    SELECT token, done, again FROM won UNION ALL SELECT token, NULL, false FROM inserted
), moved AS (
    -- A comment in acquire_waiting.sql explains this update.
    UPDATE rowlock_lease_waiter w
       SET since = clock_timestamp(), callable = false, nonce = NULL
      FROM granted
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $7::text::uuid
)
SELECT CASE WHEN g.token IS NOT NULL THEN
                 -- A notified reader joins, and notifies the next waiter. A notified writer makes later readers wait.
                 'granted' || CASE WHEN g.again THEN '' ELSE coalesce((
                     SELECT pg_notify(n.channel, n.id::text)::text
                       FROM (SELECT w.channel, w.id
                               FROM rowlock_lease_waiter w
                              WHERE w.namespace = $1::text AND w.name = $2::text
                                AND w.callable AND w.seen_at > s.now - interval '3 seconds' AND (w.seen_at <= s.now OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint))) AND w.channel <> '' AND w.id IS DISTINCT FROM $7::text::uuid
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
                   WHERE w.namespace = $1::text AND w.name = $2::text AND w.since < own.since AND w.callable AND w.seen_at > s.now - interval '3 seconds') ELSE 0 END AS ahead,
       CASE WHEN g.token IS NOT NULL AND s.reserved_for IS DISTINCT FROM $7::text::uuid THEN coalesce(s.reserved_for::text, '') ELSE '' END AS missed
  FROM seen s LEFT JOIN granted g ON true
