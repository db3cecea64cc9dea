-- +goose Up

-- The processes that wait for a lock: one row for each process and name.
-- A release reserves the lock for the process that has waited longest. If rows are lost, waiters wait
-- longer, and nothing else happens. Times are microseconds since 1970.
CREATE TABLE rowlock_lease_waiter (
    namespace TEXT    NOT NULL COLLATE BINARY,
    name      TEXT    NOT NULL COLLATE BINARY,
    id        TEXT    NOT NULL, -- random, of the process and the name
    since     INTEGER NOT NULL, -- when it began to wait
    seen_at   INTEGER NOT NULL, -- when it last confirmed that it waits; after 3 s it counts as dead
    PRIMARY KEY (namespace, name, id)
) WITHOUT ROWID;

-- The waiter that a released lock is reserved for, until held_until, which is 50 ms after the release. NULL while a grant holds the lock.
ALTER TABLE rowlock_lease ADD COLUMN reserved_for TEXT;

-- +goose Down

ALTER TABLE rowlock_lease DROP COLUMN reserved_for;
DROP TABLE rowlock_lease_waiter;
