-- +goose Up

-- Times are microseconds since 1970.

-- The locks: one row for each name that was ever locked. A release keeps the row, because the next token must be larger.
CREATE TABLE rowlock_lease (
    namespace    TEXT    NOT NULL COLLATE BINARY,
    name         TEXT    NOT NULL COLLATE BINARY,
    token        INTEGER NOT NULL, -- the token of the current grant, or of the last grant; 0 if there was no grant
    nonce        TEXT    NULL,     -- the nonce of the request that was granted; NULL once the grant is released
    holder       TEXT    NOT NULL, -- who holds the lock, for people
    note         TEXT    NOT NULL, -- why the lock is held, for people
    acquired_at  INTEGER NOT NULL, -- when the lock was granted
    expires_at   INTEGER NOT NULL, -- when the lease ends unless it is renewed
    held_until   INTEGER NOT NULL, -- until then nobody else is granted the lock; 0 after a release that neither reserves the lock
                                   -- nor has a minimum hold to keep, so that the lock stays free if the clock is set back
    reserved_for TEXT    NULL,     -- the waiter that a release reserved the lock for, until held_until, 50 ms later; NULL while a grant holds the lock
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- One row with the state that all locks share.
CREATE TABLE rowlock_lease_meta (
    id                INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             INTEGER NOT NULL, -- every token that is granted from now on is larger
    epoch             TEXT    NOT NULL, -- the database that grants; empty before the first grant
    quarantined_until INTEGER NOT NULL, -- until then nothing is granted, because the database has changed
    longest_ttl_us    INTEGER NOT NULL  -- the longest time that any grant closed a lock for, in microseconds, and at least a minute
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', 0, 60000000);

-- The queues: one row for each process and name that it waits for. A release reserves the lock for the process that has waited longest.
-- If rows are lost, waiters wait longer, and nothing else happens.
CREATE TABLE rowlock_lease_waiter (
    namespace TEXT    NOT NULL COLLATE BINARY,
    name      TEXT    NOT NULL COLLATE BINARY,
    id        TEXT    NOT NULL, -- a random id of this row
    since     INTEGER NOT NULL, -- when the process began to wait
    seen_at   INTEGER NOT NULL, -- when the process last confirmed that it waits; after 3 s it counts as dead
    PRIMARY KEY (namespace, name, id)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_waiter;
DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
