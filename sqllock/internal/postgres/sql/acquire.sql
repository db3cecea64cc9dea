-- Parameters: $1 namespace; $2 name; $3 nonce; $4 holder; $5 note; $6 TTL, $7 minimum hold and $8 hand-over delay, all three in microseconds; $9 the id of the waiter's row, or NULL; $10 the channel on which the process listens, or an empty text.
-- Result: one row, or no row if the meta row is missing: verdict ('granted', or the reason why the lock was not granted); the token of this grant, or else of the lock's last grant; the holder and note of the last grant before this statement; if the lock was not granted, the microseconds since that last grant and until the lock is free, else 0 and 0; if the lock was granted, the last recorded tick, else an empty text; if the lock was not granted, the number of its shares that have not expired, else 0; how many waiters have waited longer; whether the waiter's row was in the queue before this statement.
-- Promise: is one statement. It waits for at most 25 ms, and only for another transaction that inserts a row of the same name. It writes nothing in the lock's row unless it grants the lock. If the request is refused, the statement puts the waiter's row into the queue, and records the request there, so that a release may grant it. Without a channel it records no request. A lock that is reserved for this waiter is granted to it. A grant is durable.
WITH seen AS MATERIALIZED (
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
    -- A grant must survive a crash, whatever the session's default is.
    SELECT l.token, l.nonce = $3::text::uuid AS same, l.acquired_at, s.floor, clock_timestamp() AS now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND (l.held_until <= clock_timestamp() OR l.nonce = $3::text::uuid
            OR l.nonce IS NULL AND l.reserved_for = $9::text::uuid)
       FOR UPDATE OF l SKIP LOCKED
), unpruned AS MATERIALIZED (
    -- Prune may have deleted the name's row a moment ago, and raised the floor to that row's token. This statement's
    -- snapshot still has the old floor. So the floor is read again, under a lock that keeps Prune from raising the
    -- floor until this insert is visible.
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
), queued AS (
    UPDATE rowlock_lease_waiter w
       SET callable = true, since = CASE WHEN w.callable THEN w.since ELSE clock_timestamp() END,
           alive_until = greatest(w.alive_until, clock_timestamp() + interval '3 seconds'), channel = $10::text,
           nonce = CASE WHEN $10::text <> '' THEN $3::text::uuid END,
           holder = $4::text, note = $5::text, ttl_us = $6::bigint, min_hold_us = $7::bigint, handover_us = $8::bigint
      FROM seen s
     WHERE s.token IS NOT NULL AND NOT EXISTS (SELECT FROM locked)
       AND w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid
       AND (NOT w.callable OR $10::text <> '' AND w.nonce IS DISTINCT FROM $3::text::uuid)
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
    -- The grant takes the waiter out of the queue and withdraws the recorded request, even if the lock's row was pruned
    -- meanwhile. It also takes out a waiter that has missed its reservation, because its process may have died. The next
    -- refused request of a process puts its row back, at the end of the queue.
    UPDATE rowlock_lease_waiter w
       SET callable = false, nonce = NULL
      FROM granted, seen s
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id IN ($9::text::uuid, s.reserved_for)
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
                   WHERE w.namespace = $1::text AND w.name = $2::text AND (w.since < own.since OR NOT own.callable) AND w.callable AND w.alive_until > s.now) ELSE 0 END AS ahead,
       EXISTS (SELECT FROM rowlock_lease_waiter w WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid AND w.callable) AS there
  FROM seen s LEFT JOIN granted g ON true
