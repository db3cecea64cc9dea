-- +goose Up

-- Functions that seal and check the marks of package fence by SQL alone. As in the migration before this one, each
-- function with the prefix do_ runs one statement of package fence.

-- read.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_read(text, text)
RETURNS TABLE (token bigint, nonce text, domain text) LANGUAGE sql VOLATILE AS $statement$
SELECT f.token, f.nonce::text, f.domain
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
$statement$;
-- +goose StatementEnd

-- raise.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_raise(text, text, bigint, text, text)
RETURNS void LANGUAGE sql VOLATILE AS $statement$
WITH turn AS MATERIALIZED (
    SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
)
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
SELECT $1::text, $2::text, $3::bigint, $4::text::uuid, $5::text, clock_timestamp()
  FROM turn
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.token < excluded.token AND f.domain IN ('', excluded.domain)
$statement$;
-- +goose StatementEnd

-- check.sql
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_do_check(text, text, bigint, text, bigint)
RETURNS TABLE (token bigint, nonce text, idle text, nonces text) LANGUAGE sql VOLATILE AS $statement$
SELECT f.token, f.nonce::text,
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint::float8 * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END,
       CASE WHEN $4::text = ANY (string_to_array(current_setting('rowlock.nonces', true), ' '))
            THEN current_setting('rowlock.nonces')
            ELSE set_config('rowlock.nonces', pg_catalog.concat_ws(' ', NULLIF(current_setting('rowlock.nonces', true), ''), $4::text), true) END
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   AND ($5::bigint OPERATOR(pg_catalog.=) 1 OR pg_catalog.pg_try_advisory_xact_lock_shared(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8))))
   FOR SHARE
$statement$;
-- +goose StatementEnd

-- Makes a lease the newest holder of the resource, as a guard's Seal does. Call it once after acquiring, before you
-- read what the lock protects. It waits at most as long as wait for the transactions that an older lease has checked,
-- and then raises 55P03. Raises RLF02 if the resource was sealed by a newer lease, or by a lease of another lock or
-- store. name is the lock's name if it is not that of the resource. store is the guard's TokenDomain, if it has one.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_seal(
    resource text, token bigint, nonce uuid, name text DEFAULT NULL, namespace text DEFAULT '', wait interval DEFAULT '10 seconds',
    store text DEFAULT 'sqllock/postgres'
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '10s' AS $$
#variable_conflict use_variable
DECLARE
    domain text := store || ' ' || coalesce(name, resource);
    mark record;
BEGIN
    IF (octet_length(convert_to(resource, 'UTF8'::name)) BETWEEN 1 AND 512 AND octet_length(convert_to(namespace, 'UTF8'::name)) <= 128
        AND token > 0::bigint AND nonce IS NOT NULL AND octet_length(convert_to(domain, 'UTF8'::name)) <= 1024 AND wait > interval '0') IS NOT TRUE THEN
        RAISE EXCEPTION 'rowlock: seal: a parameter is missing, empty or too long' USING ERRCODE = '22023';
    ELSIF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'rowlock: seal "%": the snapshot of the transaction may be older than the last writes of an older lease', resource
            USING ERRCODE = '25000', HINT = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED';
    END IF;
    PERFORM set_config('lock_timeout', ((extract(epoch FROM wait)::float8 * 1e3::float8)::bigint)::text, true),
            CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END;
    SELECT m.token, m.nonce, m.domain INTO mark FROM rowlock_lease_do_read(namespace, resource) m;
    IF NOT FOUND OR mark.nonce <> nonce::text AND mark.token < token AND mark.domain IN ('', domain) THEN
        PERFORM rowlock_lease_do_raise(namespace, resource, token, nonce::text, domain);
        SELECT m.token, m.nonce, m.domain INTO mark FROM rowlock_lease_do_read(namespace, resource) m;
    END IF;
    IF mark.nonce IS DISTINCT FROM nonce::text THEN
        RAISE EXCEPTION 'rowlock: seal "%" refused: the lease with token % is not newer than the one that sealed last', resource, token
            USING ERRCODE = 'RLF02',
                  DETAIL = pg_catalog.format('The mark has token %s of the domain %L; the lease is of the domain %L.', mark.token, mark.domain, domain);
    END IF;
END
$$;
-- +goose StatementEnd

-- Checks that the lease is the one that sealed the resource last, as a guard's Check does. Call it in the transaction
-- that writes, before you read and write. Until that transaction ends, no newer lease seals the resource, and protected
-- tables accept the writes. Raises RLF02 if the lease is stale, and 40001 if the transaction must be repeated: a newer
-- lease is waiting, or the mark has changed after the snapshot of the transaction. Compares the nonce; the token is for
-- the error. If idle is not NULL, the server ends the transaction if its session is idle for longer.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_check(
    resource text, token bigint, nonce uuid, namespace text DEFAULT '', idle interval DEFAULT NULL
) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
#variable_conflict use_variable
DECLARE
    idle_ms bigint := (extract(epoch FROM coalesce(idle, current_setting('idle_in_transaction_session_timeout')::interval))::float8 * 1e3::float8)::bigint;
    mark record;
    locked boolean;
BEGIN
    SELECT m.token, m.nonce INTO mark FROM rowlock_lease_do_check(namespace, resource, idle_ms, nonce::text, 0::bigint) m;
    locked := FOUND;
    IF NOT locked THEN
        SELECT m.token, m.nonce INTO mark FROM rowlock_lease_do_read(namespace, resource) m;
    END IF;
    IF mark.nonce IS DISTINCT FROM nonce::text OR nonce IS NULL THEN
        RAISE EXCEPTION 'rowlock: check "%" refused: the lease with token % is not the one that sealed last', resource, token
            USING ERRCODE = 'RLF02', DETAIL = CASE WHEN mark.token IS NULL THEN 'The resource was never sealed.' ELSE pg_catalog.format('The mark has token %s.', mark.token) END;
    ELSIF NOT locked THEN
        RAISE EXCEPTION 'rowlock: check "%": a newer lease waits to seal until earlier transactions end', resource
            USING ERRCODE = '40001', HINT = 'Repeat the transaction.';
    END IF;
END
$$;
-- +goose StatementEnd

-- See the end of the migration before this one.
-- +goose StatementBegin
DO $path$
DECLARE
    schema text := (SELECT c.relnamespace::regnamespace::text FROM pg_class c WHERE c.oid = 'rowlock_lease_fence'::regclass::oid);
    routine oid;
BEGIN
    FOREACH routine IN ARRAY ARRAY[
        'rowlock_lease_do_read'::regproc::oid, 'rowlock_lease_do_raise'::regproc::oid, 'rowlock_lease_do_check'::regproc::oid,
        'rowlock_lease_seal'::regproc::oid, 'rowlock_lease_check'::regproc::oid]
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine::regprocedure);
        EXECUTE pg_catalog.format('ALTER FUNCTION %s SET search_path = pg_catalog, %s, pg_temp', routine::regprocedure, schema);
    END LOOP;
END
$path$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION rowlock_lease_check;
DROP FUNCTION rowlock_lease_seal;
DROP FUNCTION rowlock_lease_do_check;
DROP FUNCTION rowlock_lease_do_raise;
DROP FUNCTION rowlock_lease_do_read;
