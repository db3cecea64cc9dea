-- +goose Up

-- The function of the triggers by which package fence protects tables. Its two arguments name the
-- namespace and the resource whose mark decides. It runs with the rights of whoever writes.
-- rowlock.nonces is what a check has left in the transaction, one nonce a lease; after a transaction
-- such a setting is an empty text. rowlock.pass, set to anything else, lets the table's owner pass,
-- and the members of that role.
-- +goose StatementBegin
CREATE FUNCTION rowlock_lease_fence_check() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $check$
DECLARE
    nonces text[] := string_to_array(NULLIF(current_setting('rowlock.nonces', true), ''), ' ');
    sealed text;
BEGIN
    IF NULLIF(current_setting('rowlock.pass', true), '') IS NOT NULL
       AND pg_has_role(current_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'MEMBER') THEN
        RETURN NULL;
    END IF;
    IF nonces IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'RLF01',
            MESSAGE = pg_catalog.format('rowlock: %s on %I refused: the transaction has passed no check', TG_OP, TG_TABLE_NAME),
            DETAIL = pg_catalog.format('The table is protected by the resource %L in the namespace %L.', TG_ARGV[1], TG_ARGV[0]);
    END IF;
    SELECT f.nonce::text INTO sealed -- every function call sees what is committed; the lock keeps it so
      FROM rowlock_lease_fence f
     WHERE f.namespace = TG_ARGV[0] AND f.resource = TG_ARGV[1]
       FOR SHARE;
    IF sealed IS NULL OR sealed <> ALL (nonces) THEN
        RAISE EXCEPTION USING ERRCODE = 'RLF02',
            MESSAGE = pg_catalog.format('rowlock: %s on %I refused: the lease that the transaction has checked is not the one that sealed last', TG_OP, TG_TABLE_NAME),
            DETAIL = pg_catalog.format('The table is protected by the resource %L in the namespace %L.', TG_ARGV[1], TG_ARGV[0]);
    END IF;
    RETURN NULL;
END
$check$;
-- +goose StatementEnd

-- Whatever the search_path of the writer, and whatever temporary tables he has: the function finds
-- the fence table where it is now.
-- +goose StatementBegin
DO $path$
BEGIN
    EXECUTE pg_catalog.format('ALTER FUNCTION rowlock_lease_fence_check() SET search_path = pg_catalog, %s, pg_temp',
        (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = 'rowlock_lease_fence'::regclass::oid));
END
$path$;
-- +goose StatementEnd

-- +goose Down

-- Fails while a table is protected: take its trigger away first.
DROP FUNCTION rowlock_lease_fence_check();
