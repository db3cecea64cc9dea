-- Parameters: $1 to $8 as in acquire.sql; $9 the id of the waiter's row, or NULL; $10 the token domain of the lock; $11 the longest time to wait for the transactions of older holders, in milliseconds.
-- Result: the columns of acquire_waiting.sql, except that the last column tells whether the fence mark of the lock's own name now belongs to this grant.
-- Promise: is acquire.sql with the following differences. A lock that is reserved for this waiter is granted to it. A grant also raises the fence mark, if the mark's token is smaller and of the same domain, as raise.sql of package fence does. The mark is raised only after every transaction that has checked the mark has ended. While the statement waits, other processes are refused this lock as contended. Other locks are not affected.
WITH seen AS MATERIALIZED (
    -- The comments in acquire.sql and acquire_waiting.sql explain the parts that have no comment here.
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
           set_config('lock_timeout', ($11::bigint)::text, true),
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
), turn AS MATERIALIZED (
    -- This lock blocks later checks of the fence mark: see check.sql of package fence.
    SELECT k.token, pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
               $2::text COLLATE pg_catalog."C",
               pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
      FROM locked k
), raised AS (
    -- A mark with a larger token does not change. The lock is granted nevertheless, and the guard then refuses the grant.
    INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
    SELECT $1::text, $2::text, k.token, $3::text::uuid, $10::text, clock_timestamp()
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
), begun AS (
    -- This insert must not wait, because the statement has locked the floor, which all locks share. If the lock had no
    -- row but its name has a fence mark, the guard raises the mark later.
    INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
    SELECT $1::text, $2::text, i.token, $3::text::uuid, $10::text, clock_timestamp()
      FROM inserted i
        ON CONFLICT (namespace, resource) DO NOTHING
 RETURNING f.token
), granted AS (
    SELECT token, done, sealed FROM won UNION ALL SELECT token, NULL, EXISTS (SELECT FROM begun) FROM inserted
), moved AS (
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
       coalesce(g.sealed, false) AS sealed
  FROM seen s LEFT JOIN granted g ON true
