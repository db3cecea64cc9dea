-- +goose Up

-- One row for each process that waits for a lock, as long as it waits: a release looks here for whom it
-- calls, the one that has waited longest first. Nothing but time is lost with these rows, so they need no log.
CREATE UNLOGGED TABLE rowlock_lease_waiter (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    since     timestamptz NOT NULL, -- it has waited from then on, or had the lock then
    id        uuid        NOT NULL,
    channel   text COLLATE "C" NOT NULL, -- on which its process listens; empty if it does not
    seen_at   timestamptz NOT NULL, -- when it said last that it waits
    callable  boolean     NOT NULL DEFAULT true, -- a release may call it; false once its process has been granted the lock
    PRIMARY KEY (namespace, name, since, id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- The waiter for whom a lock that was released is kept, until held_until, 50 ms later.
ALTER TABLE rowlock_lease ADD COLUMN reserved_for uuid;

-- +goose Down

ALTER TABLE rowlock_lease DROP COLUMN reserved_for;
DROP TABLE rowlock_lease_waiter;
