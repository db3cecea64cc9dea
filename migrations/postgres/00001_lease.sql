-- +goose Up

-- The locks: one row for each name that was ever locked. A release keeps the row, because the next token must be larger.
-- Only the primary key is indexed, and pages stay half empty, so that each renewal is a heap-only update.
CREATE TABLE rowlock_lease (
    namespace    text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    token        bigint      NOT NULL, -- the token of the current grant, or of the last grant; 0 if there was no grant
    nonce        uuid        NULL,     -- the nonce of the request that was granted; NULL once the grant is released
    holder       text        NOT NULL, -- who holds the lock, for people
    note         text        NOT NULL, -- why the lock is held, for people
    acquired_at  timestamptz NOT NULL, -- when the lock was granted
    expires_at   timestamptz NOT NULL, -- when the lease ends unless it is renewed
    held_until   timestamptz NOT NULL, -- until then nobody else is granted the lock; 1970 after a release that neither reserves the lock
                                       -- nor has a minimum hold to keep, so that the lock stays free if the clock is set back
    reserved_for uuid        NULL,     -- the waiter that a release reserved the lock for, until held_until, 50 ms later
    PRIMARY KEY (namespace, name)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- One row with the state that all locks share.
CREATE TABLE rowlock_lease_meta (
    id                smallint    PRIMARY KEY CHECK (id = 1),
    floor             bigint      NOT NULL, -- every token that is granted from now on is larger
    epoch             text        NOT NULL, -- the server that grants: system identifier/timeline/start; empty before the first grant
    quarantined_until timestamptz NOT NULL, -- until then nothing is granted, because the server has changed
    longest_ttl_us    bigint      NOT NULL  -- the longest time that any grant closed a lock for, in microseconds, and at least a minute
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', '-infinity', 60000000);

-- Whether an epoch is of this server: its timeline, 8 digits, and its start, 16 digits, are the last 25 characters. The system identifier
-- is left out, because reading it opens a file (8 us): it is read only when the other two have changed. pg_control_checkpoint() would be
-- cheaper than pg_walfile_name(), but lags behind a promotion. PostgreSQL inlines the function, so it must be VOLATILE, as what it calls is.
CREATE FUNCTION rowlock_lease_same_epoch(epoch text) RETURNS boolean LANGUAGE sql VOLATILE AS
    'SELECT right($1, 25) = left(pg_walfile_name(pg_current_wal_lsn()), 8) || ''/'' || encode(timestamptz_send(pg_postmaster_start_time()), ''hex'')';

-- The queues: one row for each process and name that it waits for. A release chooses the process that has waited longest.
-- If rows are lost, waiters wait longer, and nothing else happens. So the table needs no log.
CREATE UNLOGGED TABLE rowlock_lease_waiter (
    namespace   text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    since       timestamptz NOT NULL, -- when the process began to wait, or was last granted the lock
    id          uuid        NOT NULL, -- a random id of this row
    channel     text COLLATE "C" NOT NULL, -- where the process listens for notifications; empty if it does not listen
    seen_at     timestamptz NOT NULL, -- when the process last confirmed that it waits; after 3 s it counts as dead
    callable    boolean     NOT NULL DEFAULT true, -- a release may choose it; false once it has been granted the lock
    -- The request that a waiter deposits here, so that a release can grant it in the same statement.
    nonce       uuid        NULL,                -- of the request; NULL if there is none
    holder      text        NOT NULL DEFAULT '',
    note        text        NOT NULL DEFAULT '',
    ttl_us      bigint      NOT NULL DEFAULT 0,  -- in microseconds, as the two below
    min_hold_us bigint      NOT NULL DEFAULT 0,
    handover_us bigint      NOT NULL DEFAULT 0,  -- the hand-over delay
    PRIMARY KEY (namespace, name, since, id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- +goose Down

DROP TABLE rowlock_lease_waiter;
DROP FUNCTION rowlock_lease_same_epoch(text);
DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
