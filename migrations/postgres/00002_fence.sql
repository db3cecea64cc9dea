-- +goose Up

-- The marks of package fence: one row for each resource that package fence protects, with the token of the newest
-- holder that has sealed. If a row were lost, the resource would accept an older holder again. So a row stays
-- until a guard's Prune deletes it, and the table must not be UNLOGGED.
CREATE TABLE rowlock_lease_fence (
    namespace text COLLATE "C" NOT NULL,
    resource  text COLLATE "C" NOT NULL,
    token     bigint      NOT NULL, -- the token of the lease that has sealed last; 0 after a reset
    nonce     uuid        NOT NULL, -- the nonce of the lease that has sealed last
    domain    text COLLATE "C" NOT NULL, -- the token domain: the kind of store and the lock that the token comes from. Tokens of two
                                            -- domains are never compared. Empty after a reset: the next seal sets the domain
    era       bigint      NOT NULL DEFAULT 0, -- the number of times that an operator has reset the mark
    sealed_at timestamptz NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
);

-- The outcomes of package fence's transactions. Each transaction writes its number into a row, called a slot,
-- that no concurrent transaction uses. If the reply to a commit is lost, the number in the slot tells whether the
-- transaction was committed. Later transactions reuse the slots, so the table has about as many rows as there are
-- concurrent transactions. The table must not be UNLOGGED. Pages stay half empty, so that each update is heap-only
-- (HOT).
CREATE TABLE rowlock_lease_outcome (
    slot         uuid        PRIMARY KEY,
    operation    bigint      NOT NULL, -- the number of the last committed transaction that used the slot
    committed_at timestamptz NOT NULL  -- when that transaction wrote the row
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- The trigger function with which package fence protects tables. A trigger passes the namespace and the resource of a
-- mark to the function. The function compares that mark with the lease that the transaction has checked. The function
-- runs with the privileges of the role that writes. A check stores the nonce of its lease in the setting rowlock.nonces
-- for the rest of the transaction. After the transaction the setting is an empty text. If the setting rowlock.pass is
-- not empty, the table's owner and members of the owner's role may write without a check.
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
    SELECT f.nonce::text INTO sealed -- the query sees the newest committed mark, and FOR SHARE keeps the mark unchanged until the transaction ends
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

-- Set the function's search_path to the current schema of the fence table. Then the writer's own search_path and
-- temporary tables cannot replace the fence table.
-- +goose StatementBegin
DO $path$
BEGIN
    EXECUTE pg_catalog.format('ALTER FUNCTION rowlock_lease_fence_check() SET search_path = pg_catalog, %s, pg_temp',
        (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = 'rowlock_lease_fence'::regclass::oid));
END
$path$;
-- +goose StatementEnd

-- +goose Down

-- DROP FUNCTION fails while a table is protected. Drop the triggers of protected tables first.
DROP FUNCTION rowlock_lease_fence_check();
DROP TABLE rowlock_lease_outcome;
DROP TABLE rowlock_lease_fence;
