-- Parameters: $1 to $8 as in acquire.sql; $9 and $10 as in acquire.sql; $11 the token domain of the lock; $12 the longest time to wait for the transactions of older holders, in milliseconds.
-- Result: the columns of acquire.sql, and whether the fence mark of the lock's own name now belongs to this grant.
-- Promise: is acquire.sql with the following differences. If the lock has no row, the verdict is 'missing'. A refused request puts the waiter's row into the queue, but is not recorded there. A grant also raises the fence mark, if the mark's token is smaller and of the same domain, as raise.sql of package fence does. The mark is raised only after every transaction that has checked the mark has ended. While the statement waits, other processes are refused this lock as contended. Other locks are not affected.
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
    SELECT l.nonce = $3::text::uuid AS same, l.acquired_at,
           CASE WHEN l.nonce = $3::text::uuid THEN l.token
                ELSE greatest(l.token + 1, s.floor + 1, (extract(epoch FROM clock_timestamp())::float8 * 1e6::float8)::bigint) END AS token,
           set_config('lock_timeout', ($12::bigint)::text, true),
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND (l.held_until <= clock_timestamp() OR l.nonce = $3::text::uuid
            OR l.nonce IS NULL AND l.reserved_for = $9::text::uuid)
       FOR UPDATE OF l SKIP LOCKED
), turn AS MATERIALIZED (
    -- This lock blocks later checks of the fence mark: see check.sql of package fence.
    SELECT k.token, pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
               $2::text COLLATE pg_catalog."C",
               pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
      FROM locked k
), raised AS (
    -- A mark with a larger token does not change. The lock is granted nevertheless, and the guard then refuses the grant.
    INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
    SELECT $1::text, $2::text, k.token, $3::text::uuid, $11::text, clock_timestamp()
      FROM turn k
        ON CONFLICT (namespace, resource) DO UPDATE
       SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = clock_timestamp()
     WHERE f.domain IN ('', excluded.domain)
       AND (f.token < excluded.token OR f.token = excluded.token AND f.nonce = excluded.nonce)
 RETURNING f.token
), drained AS MATERIALIZED (
    -- The number of raised marks is known only after the wait for older transactions. So the clock is read after that
    -- wait, and the lease starts at that time.
    SELECT r.marks = 1 AS sealed, clock_timestamp() AS now
      FROM (SELECT count(*) AS marks FROM raised) r
), won AS (
    UPDATE rowlock_lease l
       SET token = k.token,
           nonce = $3::text::uuid,
           holder = $4::text,
           note = $5::text,
           reserved_for = NULL,
           readers = NULL,
           writer_until = NULL,
           acquired_at = CASE WHEN k.same THEN k.acquired_at ELSE d.now END,
           expires_at = d.now + $6::bigint::float8 * interval '1 microsecond',
           held_until = greatest(
               d.now + ($6::bigint + $8::bigint)::float8 * interval '1 microsecond',
               CASE WHEN k.same THEN k.acquired_at ELSE d.now END + $7::bigint::float8 * interval '1 microsecond')
      FROM locked k, drained d
     WHERE l.namespace = $1::text AND l.name = $2::text
 RETURNING l.token, l.done, d.sealed
), queued AS (
    UPDATE rowlock_lease_waiter w
       SET callable = true, since = clock_timestamp(), alive_until = greatest(w.alive_until, clock_timestamp() + interval '3 seconds'), channel = $10::text
      FROM seen s
     WHERE s.token IS NOT NULL AND NOT EXISTS (SELECT FROM locked)
       AND w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid AND NOT w.callable
), moved AS (
    UPDATE rowlock_lease_waiter w
       SET callable = false, nonce = NULL
      FROM won, seen s
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
            WHEN s.token IS NULL THEN 'missing'
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
       EXISTS (SELECT FROM rowlock_lease_waiter w WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $9::text::uuid AND w.callable) AS there,
       coalesce(g.sealed, false) AS sealed
  FROM seen s LEFT JOIN won g ON true
