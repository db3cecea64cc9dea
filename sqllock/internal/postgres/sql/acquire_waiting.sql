-- Parameters: $1 to $8 as in acquire.sql; $9 the id of the waiter's row; $10 a sum of flags: 1 if a later release may grant the request, 2 if the process did not wait before; $11 the channel on which the process listens, or an empty text.
-- Result: the columns of acquire.sql, and then: how many waiters have waited longer; the id of the waiter that missed its reservation of the lock, or an empty text; whether the waiter's row is there, so that a release may choose it.
-- Promise: is acquire.sql with two differences. If the request is refused and a later release may grant it, the statement deposits the request in the waiter's row. A lock that is reserved for this waiter is granted to it.
WITH seen AS MATERIALIZED (
    -- The comments in acquire.sql explain the parts that have no comment here.
    SELECT m.floor,
           rowlock_lease_same_epoch(m.epoch) AS same_epoch,
           m.longest_ttl_us >= greatest($6::bigint + $8::bigint, $7::bigint) AS ttl_known,
           m.quarantined_until,
           l.token, l.nonce, l.holder, l.note, l.acquired_at, l.expires_at, l.held_until, l.reserved_for, l.readers,
           clock_timestamp() AS now
      FROM rowlock_lease_meta m
      LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE m.id = 1
), locked AS MATERIALIZED (
    SELECT l.token, l.nonce = $3::text::uuid AS same, l.acquired_at, s.floor, clock_timestamp() AS now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND (l.held_until <= clock_timestamp() OR l.nonce = $3::text::uuid
            OR l.nonce IS NULL AND l.reserved_for = $9::text::uuid)
       FOR UPDATE OF l SKIP LOCKED
), unpruned AS MATERIALIZED (
    SELECT m.floor, clock_timestamp() AS now,
           set_config('lock_timeout', '25ms', true),
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease_meta m ON m.id = 1
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND s.token IS NULL
       FOR SHARE OF m SKIP LOCKED
), won AS (
    UPDATE rowlock_lease l
       SET token = CASE WHEN k.same THEN k.token
                        ELSE greatest(k.token + 1, k.floor + 1, (extract(epoch FROM k.now)::float8 * 1e6::float8)::bigint) END,
           nonce = $3::text::uuid,
           holder = $4::text,
           note = $5::text,
           reserved_for = NULL,
           readers = NULL,
           writer_until = NULL,
           acquired_at = CASE WHEN k.same THEN k.acquired_at ELSE k.now END,
           expires_at = k.now + $6::bigint::float8 * interval '1 microsecond',
           held_until = greatest(
               k.now + ($6::bigint + $8::bigint)::float8 * interval '1 microsecond',
               CASE WHEN k.same THEN k.acquired_at ELSE k.now END + $7::bigint::float8 * interval '1 microsecond')
      FROM locked k
     WHERE l.namespace = $1::text AND l.name = $2::text
 RETURNING l.token, l.done
), left_there AS (
    UPDATE rowlock_lease_waiter w
       SET nonce = CASE WHEN $10::bigint & 1::bigint = 1 THEN $3::text::uuid END, seen_at = greatest(w.seen_at, clock_timestamp()), callable = true,
           since = CASE WHEN $10::bigint & 2::bigint = 2 THEN clock_timestamp() ELSE w.since END,
           channel = $11::text, holder = $4::text, note = $5::text, ttl_us = $6::bigint, min_hold_us = $7::bigint, handover_us = $8::bigint
      FROM seen s
     WHERE s.token IS NOT NULL AND NOT EXISTS (SELECT FROM locked)
       AND w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid
       AND ($10::bigint & 1::bigint = 1 AND w.nonce IS DISTINCT FROM $3::text::uuid OR NOT w.callable)
 RETURNING w.id
), inserted AS (
    INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
    SELECT $1::text, $2::text,
           greatest(u.floor + 1, (extract(epoch FROM u.now)::float8 * 1e6::float8)::bigint),
           $3::text::uuid, $4::text, $5::text,
           u.now,
           u.now + $6::bigint::float8 * interval '1 microsecond',
           u.now + greatest($6::bigint + $8::bigint, $7::bigint)::float8 * interval '1 microsecond'
      FROM unpruned u
        ON CONFLICT (namespace, name) DO NOTHING
 RETURNING l.token
), granted AS (
    SELECT token, done FROM won UNION ALL SELECT token, NULL FROM inserted
), moved AS (
    -- After this grant, no release chooses the process until the process sends a request for another waiting goroutine.
    -- The waiting time of the process starts again now. The grant also withdraws the deposited request, even if the
    -- lock's row was pruned meanwhile.
    UPDATE rowlock_lease_waiter w
       SET since = clock_timestamp(), callable = false, nonce = NULL
      FROM granted
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid
)
SELECT CASE WHEN g.token IS NOT NULL THEN 'granted'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.held_until > s.now AND s.nonce IS DISTINCT FROM $3::text::uuid
                 AND (s.reserved_for = $9::text::uuid) IS NOT TRUE THEN
                 CASE WHEN s.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN s.nonce IS NULL THEN 'min hold'
                      WHEN s.expires_at > s.now THEN 'leased'
                      ELSE 'handover' END
            WHEN s.quarantined_until > s.now THEN 'quarantine'
            WHEN NOT s.ttl_known THEN 'ttl'
            ELSE 'contended' END AS verdict,
       coalesce(g.token, s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       CASE WHEN g.token IS NULL AND s.token > 0
            THEN (extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       CASE WHEN g.token IS NULL
            THEN (extract(epoch FROM greatest(s.held_until, s.quarantined_until, s.now) - s.now)::float8 * 1e6::float8)::bigint ELSE 0 END AS free_in_us,
       coalesce(g.done, '') AS done,
       CASE WHEN g.token IS NULL AND s.readers IS NOT NULL
            THEN (SELECT count(*) FROM jsonb_each(s.readers) r WHERE r.value::bigint > (extract(epoch FROM s.now)::float8 * 1e6::float8)::bigint) ELSE 0 END AS readers,
       CASE WHEN g.token IS NULL AND $9::text IS NOT NULL
            THEN (SELECT count(*)
                    FROM rowlock_lease_waiter w
                    JOIN rowlock_lease_waiter own ON own.namespace = w.namespace AND own.name = w.name AND own.id = $9::text::uuid
                   WHERE w.namespace = $1::text AND w.name = $2::text AND w.since < own.since AND w.callable AND w.seen_at > s.now - interval '3 seconds') ELSE 0 END AS ahead,
       CASE WHEN g.token IS NOT NULL AND s.reserved_for IS DISTINCT FROM $9::text::uuid THEN coalesce(s.reserved_for::text, '') ELSE '' END AS missed,
       EXISTS (SELECT FROM left_there)
       OR EXISTS (SELECT FROM rowlock_lease_waiter w WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid AND w.callable) AS there
  FROM seen s LEFT JOIN granted g ON true
