-- +goose Up

-- Functions for sessions that use the locks by SQL alone. They use the rows and rules of package sqllock, so that these
-- sessions and Go processes exclude each other. The page docs/locks-from-sql.md explains them.
--
-- Each function with the prefix do_ runs one statement of package sqllock, whose file is named above the function and
-- explains the statement. The body is that file without its comments: TestTheFunctionsRunTheStatementsOfTheBackends.
-- Only the functions below them may be granted to other roles.

-- acquire.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_acquire(text, text, text, text, text, bigint, bigint, bigint, text, text)
RETURNS TABLE (verdict text, token bigint, holder text, note text, since_us bigint, free_in_us bigint, done text, readers bigint, ahead bigint, there boolean) LANGUAGE sql VOLATILE AS $statement$
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
$statement$;
-- +goose StatementEnd

-- adopt_epoch.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_adopt()
RETURNS void LANGUAGE sql VOLATILE AS $statement$
WITH present AS MATERIALIZED (
    SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS server,
           encode(timestamptz_send(pg_postmaster_start_time()), 'hex') AS started,
           set_config('lock_timeout', '1s', true)
      FROM pg_control_system()
)
UPDATE rowlock_lease_meta m
   SET epoch = p.server || '/' || p.started,
       quarantined_until = CASE WHEN m.epoch = '' OR left(m.epoch, -17) = p.server THEN m.quarantined_until
           ELSE greatest(m.quarantined_until, clock_timestamp() + least(m.longest_ttl_us, 1209600000000)::float8 * interval '1 microsecond') END
  FROM present p
 WHERE m.id = 1
   AND m.epoch <> p.server || '/' || p.started
$statement$;
-- +goose StatementEnd

-- raise_longest_ttl.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_ttl(bigint)
RETURNS void LANGUAGE sql VOLATILE AS $statement$
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true)
)
UPDATE rowlock_lease_meta m
   SET longest_ttl_us = $1::bigint
  FROM bounded
 WHERE m.id = 1
   AND m.longest_ttl_us < $1::bigint
$statement$;
-- +goose StatementEnd

-- reserve_for_writer.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_reserve(text, text, bigint, bigint, text)
RETURNS void LANGUAGE sql VOLATILE SET synchronous_commit = on AS $statement$
UPDATE rowlock_lease l
   SET writer_until = clock_timestamp() + $4::bigint::float8 * interval '1 microsecond',
       writers = CASE WHEN l.writer_until > clock_timestamp() THEN pg_catalog.array_append(pg_catalog.array_remove(l.writers, $5::text::uuid), $5::text::uuid)
                      ELSE ARRAY[$5::text::uuid] END
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.token = $3::bigint AND l.readers IS NOT NULL
$statement$;
-- +goose StatementEnd

-- forget_writer.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_forget(text, text, text)
RETURNS void LANGUAGE sql VOLATILE SET synchronous_commit = on AS $statement$
UPDATE rowlock_lease l
   SET writer_until = CASE WHEN pg_catalog.cardinality(pg_catalog.array_remove(l.writers, $3::text::uuid)) > 0 THEN l.writer_until END,
       writers = pg_catalog.array_remove(l.writers, $3::text::uuid)
  FROM (SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)) bounded
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND $3::text::uuid = ANY (l.writers)
$statement$;
-- +goose StatementEnd

-- wait.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_wait(text, text, bigint)
RETURNS void LANGUAGE sql VOLATILE SET synchronous_commit = on AS $statement$
WITH asked AS MATERIALIZED (
    SELECT a.namespace, a.name, a.id, clock_timestamp() AS now,
           clock_timestamp() + CASE WHEN $3::bigint = 1 THEN interval '35 seconds' ELSE interval '3 seconds' END AS alive_until,
           set_config('lock_timeout', '1s', true),
           set_config('synchronous_commit', 'off', true)
      FROM json_to_recordset($1::text::json) AS a(namespace text, name text, id uuid)
), known AS (
    UPDATE rowlock_lease_waiter w
       SET channel = $2::text, alive_until = a.alive_until, callable = true, since = CASE WHEN w.callable THEN w.since ELSE a.now END
      FROM asked a
     WHERE w.namespace = a.namespace AND w.name = a.name AND w.id = a.id
 RETURNING w.id
)
INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until)
SELECT a.namespace, a.name, a.now, a.id, $2::text, a.alive_until
  FROM asked a
 WHERE NOT EXISTS (SELECT FROM known k WHERE k.id = a.id)
$statement$;
-- +goose StatementEnd

-- leave.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_leave(text)
RETURNS void LANGUAGE sql VOLATILE SET synchronous_commit = on AS $statement$
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)
)
DELETE FROM rowlock_lease_waiter w
 USING bounded, json_to_recordset($1::text::json) AS a(namespace text, name text, id uuid)
 WHERE w.namespace = a.namespace AND w.name = a.name AND w.id = a.id
$statement$;
-- +goose StatementEnd

-- renew.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_renew(text)
RETURNS TABLE (n integer, outcome text) LANGUAGE sql VOLATILE AS $statement$
WITH asked AS MATERIALIZED (
    SELECT a.n, a.namespace, a.name, a.nonce, a.token, a.ttl, a.min_hold, a.handover_delay, clock_timestamp() AS now
      FROM json_to_recordset($1::text::json) AS a(
           n integer, namespace text, name text, nonce uuid, token bigint, ttl bigint, min_hold bigint, handover_delay bigint)
), locked AS MATERIALIZED (
    SELECT a.n, a.ttl, a.min_hold, a.handover_delay, l.row, l.acquired_at, a.now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM asked a
     CROSS JOIN LATERAL (
           SELECT l.ctid AS row, l.acquired_at
             FROM rowlock_lease l
            WHERE l.namespace = a.namespace AND l.name = a.name
              AND l.nonce = a.nonce AND l.token = a.token AND l.expires_at > a.now
              FOR UPDATE SKIP LOCKED) l
), renewed AS (
    UPDATE rowlock_lease l
       SET expires_at = k.now + k.ttl::float8 * interval '1 microsecond',
           held_until = greatest(k.now + (k.ttl + k.handover_delay)::float8 * interval '1 microsecond',
                                 least(k.acquired_at, k.now) + k.min_hold::float8 * interval '1 microsecond')
      FROM locked k
     WHERE l.ctid = k.row
 RETURNING k.n
)
SELECT a.n,
       CASE WHEN r.n IS NOT NULL THEN 'renewed'
            WHEN l.alive THEN 'unknown'
            ELSE 'lost' END AS outcome
  FROM asked a
  LEFT JOIN renewed r ON r.n = a.n
  LEFT JOIN LATERAL (
       SELECT true AS alive
         FROM rowlock_lease l
        WHERE l.namespace = a.namespace AND l.name = a.name
          AND l.nonce = a.nonce AND l.token = a.token AND l.expires_at > clock_timestamp()
        LIMIT 1) l ON true
$statement$;
-- +goose StatementEnd

-- release.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_release(text, text, text, bigint, bigint, text)
RETURNS SETOF text LANGUAGE sql VOLATILE SET synchronous_commit = on AS $statement$
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = least(l.expires_at, b.now),
       reserved_for = CASE WHEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond' <= b.now THEN b.waiters[1][1]::uuid END,
       held_until = CASE WHEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond' > b.now
                         THEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond'
                         WHEN b.waiters[1][1] IS NULL THEN 'epoch'
                         ELSE b.now + interval '50 milliseconds' END,
       done = coalesce($6::text, l.done)
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               CASE WHEN $6::text IS NULL OR current_setting('synchronous_commit') = 'off'
                    THEN set_config('synchronous_commit', CASE WHEN $6::text IS NULL THEN 'off' ELSE 'on' END, true) END,
               ARRAY(
                SELECT ARRAY[w.id::text, w.channel]
                  FROM rowlock_lease_waiter w
                 WHERE w.namespace = $1::text AND w.name = $2::text
                   AND w.callable AND w.alive_until > clock_timestamp()
                   AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
                 ORDER BY w.since
                 LIMIT 2) AS waiters) b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
RETURNING 'released' || CASE WHEN b.waiters[1][2] <> '' THEN pg_notify(b.waiters[1][2], b.waiters[1][1])::text ELSE '' END
                     || CASE WHEN b.waiters[2][2] <> '' THEN pg_notify(b.waiters[2][2], b.waiters[2][1] || ' next')::text ELSE '' END
$statement$;
-- +goose StatementEnd

-- released_before.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_released(text, text, text, bigint)
RETURNS text LANGUAGE sql VOLATILE AS $statement$
SELECT coalesce((
    SELECT CASE WHEN nonce IS NULL AND token = $4::bigint AND token > 0 THEN 'released'
                WHEN (nonce = $3::text::uuid OR readers ->> $3::text IS NOT NULL) AND $4::bigint IN (0, token) THEN 'again'
                WHEN readers IS NOT NULL AND token = $4::bigint THEN 'released'
                ELSE 'not held' END
      FROM rowlock_lease
     WHERE namespace = $1::text AND name = $2::text), 'not held') AS verdict
$statement$;
-- +goose StatementEnd

-- lock_in_tx.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_lock(text, text)
RETURNS TABLE (verdict text, token bigint, holder text, note text, since_us bigint, free_in_us bigint, readers bigint) LANGUAGE sql VOLATILE AS $statement$
WITH seen AS MATERIALIZED (
    SELECT m.epoch = '' OR rowlock_lease_same_epoch(m.epoch)
           OR left(m.epoch, -17) = (SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()) AS same_epoch,
           m.quarantined_until,
           l.token, l.nonce, l.holder, l.note, l.acquired_at, l.expires_at, l.held_until, l.reserved_for, l.readers,
           clock_timestamp() AS now
      FROM rowlock_lease_meta m
      LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE m.id = 1
), locked AS MATERIALIZED (
    SELECT true AS done
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.quarantined_until <= s.now
       AND l.held_until <= clock_timestamp()
       AND current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
       FOR UPDATE OF l SKIP LOCKED
)
SELECT CASE WHEN EXISTS (SELECT FROM locked) THEN 'locked'
            WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN 'snapshot'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.held_until > s.now THEN
                 CASE WHEN s.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN s.nonce IS NULL THEN 'min hold'
                      WHEN s.expires_at > s.now THEN 'leased'
                      ELSE 'handover' END
            WHEN s.quarantined_until > s.now THEN 'quarantine'
            WHEN s.token IS NULL THEN 'missing'
            ELSE 'contended' END AS verdict,
       coalesce(s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       CASE WHEN s.token > 0 THEN (extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       (extract(epoch FROM greatest(s.held_until, s.quarantined_until, s.now) - s.now)::float8 * 1e6::float8)::bigint AS free_in_us,
       CASE WHEN s.readers IS NOT NULL
            THEN (SELECT count(*) FROM jsonb_each(s.readers) r WHERE r.value::bigint > (extract(epoch FROM s.now)::float8 * 1e6::float8)::bigint) ELSE 0 END AS readers
  FROM seen s
$statement$;
-- +goose StatementEnd

-- create_in_tx.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_create(text, text)
RETURNS TABLE (created boolean, lock_timeout text) LANGUAGE sql VOLATILE AS $statement$
WITH before AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS lock_timeout
), bounded AS MATERIALIZED (
    SELECT b.lock_timeout, clock_timestamp() AS now, set_config('lock_timeout', '25ms', true) FROM before b
), created AS (
    INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
    SELECT $1::text, $2::text, 0, NULL, '', '', b.now, b.now, timestamptz 'epoch'
      FROM bounded b
        ON CONFLICT (namespace, name) DO NOTHING
 RETURNING true AS done
)
SELECT EXISTS (SELECT FROM created) AS created, b.lock_timeout
  FROM bounded b
$statement$;
-- +goose StatementEnd

-- Returns a new random nonce. The session and the time alone make it unique in this server. gen_random_uuid() would
-- need an extension in PostgreSQL 12.
CREATE FUNCTION rowlock_lease_nonce() RETURNS uuid LANGUAGE sql VOLATILE AS
    'SELECT md5(pg_backend_pid()::text || clock_timestamp()::text || random()::text || random()::text)::uuid';

-- Returns the TTL in microseconds. Raises 22023 if a parameter breaks the rules that package rowlock has for it.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_us(namespace text, name text, ttl interval) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (octet_length(convert_to(name, 'UTF8'::name)) BETWEEN 1 AND 512) IS NOT TRUE THEN
        RAISE EXCEPTION 'rowlock: the name must have 1 to 512 bytes' USING ERRCODE = '22023';
    ELSIF (octet_length(convert_to(namespace, 'UTF8'::name)) <= 128) IS NOT TRUE THEN
        RAISE EXCEPTION 'rowlock: the namespace must have at most 128 bytes' USING ERRCODE = '22023';
    ELSIF (ttl BETWEEN interval '50 milliseconds' AND interval '7 days') IS NOT TRUE THEN
        RAISE EXCEPTION 'rowlock: the TTL must be from 50 ms to 7 days' USING ERRCODE = '22023';
    END IF;
    RETURN (extract(epoch FROM ttl)::float8 * 1e6::float8)::bigint;
END
$$;
-- +goose StatementEnd

-- Returns the verdict of a refusal for people. A lease that ends in more than half a century is a pause. The server has
-- changed again and again if the epoch or the longest TTL is still another one after some attempts.
CREATE FUNCTION rowlock_lease_do_why(verdict text, free_us bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN $1 = ''leased'' AND $2 > 1576800000000000 THEN ''paused'' WHEN $1 IN (''epoch'', ''ttl'') THEN ''contended'' ELSE $1 END';

-- Makes one attempt to acquire a lock, and does not wait for its holder. The verdict is 'granted', or the reason why
-- the lock was not granted. A second call with the same nonce returns the same grant, and starts its TTL again.
-- A refusal returns the token and the holder of the lock's current or last grant. Without a holder, the text names the
-- session. If waiter is not NULL, it is a random id with which the caller polls: releases then reserve the lock for the
-- id that has waited longest. The result ahead is the number of waiters before this one.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_try_acquire(
    name text, ttl interval, holder text DEFAULT NULL, note text DEFAULT '', INOUT nonce uuid DEFAULT NULL,
    namespace text DEFAULT '', waiter uuid DEFAULT NULL,
    OUT verdict text, OUT token bigint, OUT held_by text, OUT free_in interval, OUT ahead bigint
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '1s' AS $$
#variable_conflict use_variable
DECLARE
    ttl_us bigint := rowlock_lease_do_us(namespace, name, ttl);
    called text := coalesce(holder, session_user::text || ' in session ' || pg_backend_pid()::text);
    self text := pg_catalog.json_build_array(pg_catalog.json_build_object('namespace', namespace, 'name', name, 'id', waiter))::text;
    free_us bigint := 0;
    readers bigint := 0;
BEGIN
    nonce := coalesce(nonce, rowlock_lease_nonce());
    token := 0; -- stays 0 if another transaction inserts the row of the lock
    ahead := 0;
    FOR try IN 1..6 LOOP
        BEGIN
            SELECT a.verdict, a.token, a.holder, a.free_in_us, a.readers, a.ahead
              INTO verdict, token, held_by, free_us, readers, ahead
              FROM rowlock_lease_do_acquire(namespace, name, nonce::text, left(called, 256), left(coalesce(note, ''), 1024),
                                            ttl_us, 0::bigint, 0::bigint, waiter::text, ''::text) a;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'rowlock: the row of the meta table is missing' USING ERRCODE = '55000';
            ELSIF verdict = 'epoch' THEN -- the server has changed or was restarted
                PERFORM rowlock_lease_do_adopt();
            ELSIF verdict = 'ttl' THEN -- no earlier grant had such a long TTL
                PERFORM rowlock_lease_do_ttl(ttl_us);
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            verdict := 'contended';
        END;
        EXIT WHEN verdict NOT IN ('epoch', 'ttl', 'contended');
        IF verdict = 'contended' THEN
            EXIT WHEN try >= 3;
            PERFORM pg_sleep(0.001::float8 + 0.002::float8 * random());
        END IF;
    END LOOP;
    IF verdict = 'granted' THEN
        held_by := NULL;
        RETURN;
    END IF;
    verdict := rowlock_lease_do_why(verdict, free_us);
    free_in := free_us::float8 * interval '1 microsecond';
    IF waiter IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        IF readers > 0::bigint THEN -- as for a waiting writer of package sqllock: no further reader is granted a share
            PERFORM rowlock_lease_do_reserve(namespace, name, token, 3000000::bigint, waiter::text);
        END IF;
        IF NOT EXISTS (SELECT FROM rowlock_lease_waiter w
                        WHERE w.namespace = namespace AND w.name = name AND w.id = waiter
                          AND w.callable AND w.alive_until > clock_timestamp() + interval '2 seconds') THEN
            PERFORM rowlock_lease_do_wait(self, ''::text, 0::bigint);
        END IF;
    EXCEPTION WHEN lock_not_available THEN
        NULL; -- the next call tries it again
    END;
END
$$;
-- +goose StatementEnd

-- Removes the waiter of a caller that no longer polls. Without this call, releases ignore the waiter after 3 s, and a
-- shared lock lets further readers in after 3 s.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_leave(name text, waiter uuid, namespace text DEFAULT '') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '1s' AS $$
BEGIN
    PERFORM rowlock_lease_do_leave(pg_catalog.json_build_array(
        pg_catalog.json_build_object('namespace', namespace, 'name', name, 'id', waiter))::text);
    PERFORM rowlock_lease_do_forget(namespace, name, waiter::text); -- try_acquire reserves for the waiter, and not for a nonce
EXCEPTION WHEN lock_not_available THEN
    NULL;
END
$$;
-- +goose StatementEnd

-- Renews a lease: it then ends after ttl, counted from now. Returns false if the lease has ended: a renewal revives no
-- lease. Raises 55P03 if another session has locked the row: the outcome is then unknown.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_renew(name text, nonce uuid, token bigint, ttl interval, namespace text DEFAULT '') RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '1s' AS $$
#variable_conflict use_variable
DECLARE
    ttl_us bigint := rowlock_lease_do_us(namespace, name, ttl);
    grants text := pg_catalog.json_build_array(pg_catalog.json_build_object(
        'n', 0, 'namespace', namespace, 'name', name, 'nonce', nonce, 'token', token, 'ttl', ttl_us, 'min_hold', 0, 'handover_delay', 0))::text;
    outcome text;
BEGIN
    PERFORM rowlock_lease_do_ttl(ttl_us);
    FOR try IN 1..3 LOOP
        SELECT r.outcome INTO outcome FROM rowlock_lease_do_renew(grants) r;
        IF outcome <> 'unknown' THEN
            RETURN outcome = 'renewed';
        END IF;
        PERFORM pg_sleep(0.001::float8 + 0.002::float8 * random());
    END LOOP;
    RAISE EXCEPTION 'rowlock: renew "%": another session has locked the row: try again before the lease ends', name USING ERRCODE = '55P03';
END
$$;
-- +goose StatementEnd

-- Releases a lease, and notifies the waiter that has waited longest. Returns false if the lease had ended before and
-- the lock was granted again. With token 0 it releases any grant of the nonce, for a caller that got no reply to its
-- request. The commit is as durable as the session's synchronous_commit.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_release(name text, nonce uuid, token bigint, namespace text DEFAULT '') RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '1s' AS $$
#variable_conflict use_variable
DECLARE
    verdict text;
BEGIN
    FOR try IN 1..100 LOOP
        SELECT 'released' INTO verdict FROM rowlock_lease_do_release(namespace, name, nonce::text, token, 0::bigint, NULL::text);
        IF NOT FOUND THEN
            verdict := rowlock_lease_do_released(namespace, name, nonce::text, token);
        END IF;
        IF verdict <> 'again' THEN
            RETURN verdict = 'released';
        END IF;
        PERFORM pg_sleep(0.01::float8 * random());
    END LOOP;
    RAISE EXCEPTION 'rowlock: release "%": the row changes whenever it is read', name USING ERRCODE = '55P03';
END
$$;
-- +goose StatementEnd

-- Acquires a lock, and waits for it at most as long as wait. It commits after each poll, so it fails inside
-- a transaction (2D000), before its first attempt. The results are those of try_acquire. It needs the rights of its
-- caller, because a procedure with SECURITY DEFINER or SET cannot commit.
-- +goose StatementBegin
CREATE PROCEDURE rowlock_lease_acquire(
    name text, wait interval, ttl interval, holder text DEFAULT NULL, note text DEFAULT '', INOUT nonce uuid DEFAULT NULL,
    namespace text DEFAULT '',
    INOUT verdict text DEFAULT NULL, INOUT token bigint DEFAULT NULL, INOUT held_by text DEFAULT NULL, INOUT free_in interval DEFAULT NULL
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    ends timestamptz := clock_timestamp() + wait;
    waiter uuid := CASE WHEN wait > interval '0' THEN rowlock_lease_nonce() END;
    ahead bigint;
    waited boolean := false;
BEGIN
    COMMIT;
    nonce := coalesce(nonce, rowlock_lease_nonce());
    LOOP
        BEGIN
            SELECT t.verdict, t.token, t.held_by, t.free_in, t.ahead
              INTO verdict, token, held_by, free_in, ahead
              FROM rowlock_lease_try_acquire(name, ttl, holder, note, nonce, namespace, waiter) t;
        EXCEPTION WHEN serialization_failure OR deadlock_detected THEN
            verdict := 'contended';
        END;
        COMMIT;
        EXIT WHEN verdict = 'granted' OR (clock_timestamp() < ends) IS NOT TRUE;
        waited := true;
        -- A release reserves the lock for the first waiter for 50 ms.
        PERFORM pg_sleep(CASE WHEN ahead > 0::bigint THEN 0.2::float8 ELSE 0.02::float8 END + 0.02::float8 * random());
        COMMIT;
    END LOOP;
    IF waited THEN
        PERFORM rowlock_lease_leave(name, waiter, namespace);
    END IF;
END
$$;
-- +goose StatementEnd

-- Locks the name until the end of the caller's transaction, without a lease and a token: nothing is renewed. Raises
-- 55P03 if the lock is not free, and after waiting for it at most as long as wait. Until the transaction ends, no lease
-- of that name is granted. A later snapshot may be older than the last holder's data, so it needs READ COMMITTED.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_lock_in_tx(name text, wait interval DEFAULT '0', namespace text DEFAULT '') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '1s' AS $$
#variable_conflict use_variable
DECLARE
    ends timestamptz := clock_timestamp() + wait;
    verdict text;
    holder text;
    free_us bigint;
BEGIN
    PERFORM rowlock_lease_do_us(namespace, name, interval '1 minute');
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'rowlock: lock "%" in the transaction: its snapshot may be older than the writes of the last holder', name
            USING ERRCODE = '25000', HINT = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED';
    END IF;
    LOOP
        BEGIN
            SELECT l.verdict, l.holder, l.free_in_us INTO verdict, holder, free_us FROM rowlock_lease_do_lock(namespace, name) l;
            IF verdict = 'missing' THEN
                SELECT CASE WHEN c.created THEN 'locked' ELSE 'contended' END INTO verdict FROM rowlock_lease_do_create(namespace, name) c;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            verdict := 'contended';
        END;
        IF verdict = 'locked' THEN
            RETURN;
        END IF;
        EXIT WHEN (clock_timestamp() < ends) IS NOT TRUE;
        PERFORM pg_sleep(0.02::float8 + 0.03::float8 * random());
    END LOOP;
    RAISE EXCEPTION 'rowlock: lock "%" in the transaction: the lock is not free (%)', name,
            CASE WHEN verdict IS NULL THEN 'the row of the meta table is missing' WHEN verdict = 'epoch' THEN 'quarantine' ELSE rowlock_lease_do_why(verdict, free_us) END
        USING ERRCODE = '55P03',
              DETAIL = pg_catalog.format('Last holder: %s. Free in %s.', holder, free_us::float8 * interval '1 microsecond'),
              HINT = CASE WHEN verdict = 'epoch' THEN 'The server has changed since the last grant: call try_acquire for any name, which begins the quarantine.' ELSE 'Try again later, or pass a longer wait.' END;
END
$$;
-- +goose StatementEnd

-- The locks, for people. holder, note and since describe the current grant, or the grant whose lease has expired.
CREATE VIEW rowlock_lease_locks AS
SELECT l.namespace, l.name,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > c.now + interval '50 years' THEN 'paused'
            WHEN l.nonce IS NOT NULL AND l.expires_at > c.now THEN 'held'
            WHEN l.held_until > c.now THEN 'closed'
            WHEN l.nonce IS NOT NULL THEN 'expired'
            ELSE 'free' END AS state,
       CASE WHEN l.nonce IS NOT NULL THEN l.holder END AS holder,
       CASE WHEN l.nonce IS NOT NULL THEN l.note END AS note,
       CASE WHEN l.nonce IS NOT NULL THEN l.acquired_at END AS since,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > c.now + interval '50 years' THEN timestamptz 'infinity'
            WHEN l.nonce IS NOT NULL AND l.expires_at > c.now THEN l.expires_at
            WHEN l.held_until > c.now THEN l.held_until END AS until,
       l.token,
       (SELECT count(*)
          FROM jsonb_each(l.readers) r
         WHERE r.value::bigint > (extract(epoch FROM c.now)::float8 * 1e6::float8)::bigint) AS readers,
       (SELECT count(*)
          FROM rowlock_lease_waiter w
         WHERE w.namespace = l.namespace AND w.name = l.name
           AND w.callable AND w.alive_until > c.now) AS waiters
  FROM rowlock_lease l, (SELECT clock_timestamp() AS now) c;

-- Nobody but the owner may run a function until it is granted. The functions run with the owner's rights, so their
-- search_path contains only the schema of the tables.
-- +goose StatementBegin
DO $path$
DECLARE
    schema text := (SELECT c.relnamespace::regnamespace::text FROM pg_class c WHERE c.oid = 'rowlock_lease'::regclass::oid);
    routine oid;
BEGIN
    FOREACH routine IN ARRAY ARRAY[
        'rowlock_lease_do_acquire'::regproc::oid, 'rowlock_lease_do_adopt'::regproc::oid, 'rowlock_lease_do_ttl'::regproc::oid,
        'rowlock_lease_do_reserve'::regproc::oid, 'rowlock_lease_do_forget'::regproc::oid, 'rowlock_lease_do_wait'::regproc::oid, 'rowlock_lease_do_leave'::regproc::oid,
        'rowlock_lease_do_renew'::regproc::oid, 'rowlock_lease_do_release'::regproc::oid, 'rowlock_lease_do_released'::regproc::oid,
        'rowlock_lease_do_why'::regproc::oid, 'rowlock_lease_do_lock'::regproc::oid, 'rowlock_lease_do_create'::regproc::oid, 'rowlock_lease_do_us'::regproc::oid,
        'rowlock_lease_try_acquire'::regproc::oid, 'rowlock_lease_leave'::regproc::oid, 'rowlock_lease_renew'::regproc::oid,
        'rowlock_lease_release'::regproc::oid, 'rowlock_lease_lock_in_tx'::regproc::oid]
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine::regprocedure);
        EXECUTE pg_catalog.format('ALTER FUNCTION %s SET search_path = pg_catalog, %s, pg_temp', routine::regprocedure, schema);
    END LOOP;
END
$path$;
-- +goose StatementEnd

-- +goose Down

DROP VIEW rowlock_lease_locks;
DROP FUNCTION rowlock_lease_lock_in_tx;
DROP PROCEDURE rowlock_lease_acquire;
DROP FUNCTION rowlock_lease_release;
DROP FUNCTION rowlock_lease_renew;
DROP FUNCTION rowlock_lease_leave;
DROP FUNCTION rowlock_lease_try_acquire;
DROP FUNCTION rowlock_lease_nonce;
DROP FUNCTION rowlock_lease_do_us;
DROP FUNCTION rowlock_lease_do_why;
DROP FUNCTION rowlock_lease_do_create;
DROP FUNCTION rowlock_lease_do_lock;
DROP FUNCTION rowlock_lease_do_released;
DROP FUNCTION rowlock_lease_do_release;
DROP FUNCTION rowlock_lease_do_renew;
DROP FUNCTION rowlock_lease_do_leave;
DROP FUNCTION rowlock_lease_do_wait;
DROP FUNCTION rowlock_lease_do_forget;
DROP FUNCTION rowlock_lease_do_reserve;
DROP FUNCTION rowlock_lease_do_ttl;
DROP FUNCTION rowlock_lease_do_adopt;
DROP FUNCTION rowlock_lease_do_acquire;
