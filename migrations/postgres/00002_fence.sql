-- +goose Up

-- The marks of package fence: one row for each resource that it protects, with the token of the newest holder that sealed it.
-- Without its mark a resource accepts an older holder again. So a row stays, and the table must not be UNLOGGED.
CREATE TABLE rowlock_lease_fence (
    namespace text COLLATE "C" NOT NULL,
    resource  text COLLATE "C" NOT NULL,
    token     bigint      NOT NULL, -- the token of the lease that sealed last; 0 after a reset
    nonce     uuid        NOT NULL, -- the nonce of that lease
    domain    text COLLATE "C" NOT NULL, -- where the token comes from: the kind of store and the lock; tokens of two domains are
                                            -- never compared; empty after a reset: then the next seal decides
    era       bigint      NOT NULL DEFAULT 0, -- how many times an operator has reset the mark
    sealed_at timestamptz NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
);

-- The outcomes of package fence's transactions. Each transaction writes its number into a slot that no other transaction uses at that time.
-- If the reply to a commit is lost, the slot says whether the transaction was committed. Slots are used again, so there are about as
-- many as transactions at a time. The table must not be UNLOGGED. Pages stay half empty, so that each update is heap-only.
CREATE TABLE rowlock_lease_outcome (
    slot         uuid        PRIMARY KEY,
    operation    bigint      NOT NULL, -- the number of the last transaction that was committed with the slot
    committed_at timestamptz NOT NULL  -- when that transaction wrote the row
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- The function of the triggers by which package fence protects tables. Its two arguments are the namespace and the resource of the
-- mark that decides. It runs with the rights of the role that writes.
-- A check leaves the nonce of its lease in the setting rowlock.nonces for the rest of the transaction. After a transaction such a
-- setting is an empty text. With any text in rowlock.pass, the table's owner and members of that role may write without a check.
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
    SELECT f.nonce::text INTO sealed -- each call sees what is committed, and the lock keeps the mark as it is
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

-- The function finds the fence table where it is now, whatever search_path and temporary tables the writer has.
-- +goose StatementBegin
DO $path$
BEGIN
    EXECUTE pg_catalog.format('ALTER FUNCTION rowlock_lease_fence_check() SET search_path = pg_catalog, %s, pg_temp',
        (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = 'rowlock_lease_fence'::regclass::oid));
END
$path$;
-- +goose StatementEnd

-- +goose Down

-- This fails while a table is protected: drop its trigger first.
DROP FUNCTION rowlock_lease_fence_check();
DROP TABLE rowlock_lease_outcome;
DROP TABLE rowlock_lease_fence;
