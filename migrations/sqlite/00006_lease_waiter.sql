-- +goose Up

-- Who waits for a lock: one row for each process and name, of the waiter that is first in line there.
-- A release keeps the lock for a moment for the one that has waited longest. Losing rows costs a
-- waiter nothing but time. Times are microseconds since 1970.
CREATE TABLE rowlock_lease_waiter (
    namespace TEXT    NOT NULL COLLATE BINARY,
    name      TEXT    NOT NULL COLLATE BINARY,
    id        TEXT    NOT NULL, -- random, of the process and the name
    since     INTEGER NOT NULL, -- when it began to wait
    seen_at   INTEGER NOT NULL, -- when it last asked
    PRIMARY KEY (namespace, name, id)
) WITHOUT ROWID;

-- The waiter that a released lock is kept for, until held_until.
ALTER TABLE rowlock_lease ADD COLUMN reserved_for TEXT;

-- +goose Down

ALTER TABLE rowlock_lease DROP COLUMN reserved_for;
DROP TABLE rowlock_lease_waiter;
