-- +goose Up

-- Times are microseconds since 1970.

-- The locks: one row for each name that was ever locked. A release does not delete the row, because the lock's next
-- token must be larger than the token in the row.
CREATE TABLE rowlock_lease (
    namespace    TEXT    NOT NULL COLLATE BINARY,
    name         TEXT    NOT NULL COLLATE BINARY,
    token        INTEGER NOT NULL, -- the token of the newest grant, which may have ended; 0 if the lock was never granted
    nonce        TEXT    NULL,     -- the nonce of the request that was granted; while readers hold the lock, a nonce that stands for all of them; NULL after the release
    holder       TEXT    NOT NULL, -- the holder's description of itself, for people
    note         TEXT    NOT NULL, -- why the lock is held, for people
    acquired_at  INTEGER NOT NULL, -- when the lock was granted
    expires_at   INTEGER NOT NULL, -- when the lease ends, unless the holder renews it before; while readers hold the lock, when the last of their leases ends
    held_until   INTEGER NOT NULL, -- until this time no other holder is granted the lock. A release sets the end of the reservation or
                                   -- of the minimum hold. Without either it sets 0, so that the lock is free even if the clock is set back
    reserved_for TEXT    NULL,     -- the waiter for which the last release reserved the lock until held_until (for 50 ms). NULL while a writer
                                   -- holds the lock. While readers hold the lock: a writer that waits, or NULL
    done         TEXT    NULL,     -- the last tick that a release recorded as done; NULL if there is none
    readers      TEXT    NULL,     -- the leases of the readers that hold the lock: a JSON object with the nonce of each lease as key, and the
                                   -- expiry of the lease as value. NULL if no reader holds the lock
    writer_until INTEGER NULL,     -- until this time no further reader is granted the lock, because writers wait; NULL if no writer waits
    writers      TEXT    NULL,     -- until writer_until: the nonces of these writers, separated by commas. A writer that gives up removes its nonce.
                                   -- After writer_until the column has no meaning
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- One row with the state that all locks share.
CREATE TABLE rowlock_lease_meta (
    id                INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             INTEGER NOT NULL, -- every future grant has a larger token than this number
    epoch             TEXT    NOT NULL, -- identifies the database that grants the locks; empty before the first grant
    quarantined_until INTEGER NOT NULL, -- until this time no lock is granted, because the table was copied from another kind of database
    -- The largest TTL plus hand-over delay, or minimum hold, of all grants so far, in microseconds; at least a minute. If the table was
    -- copied from another kind of database, no lock is granted for this time, because the copy may lack the last grants.
    longest_ttl_us    INTEGER NOT NULL
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', 0, 60000000);

-- The queues: one row for each pair of a waiting process and a lock's name. A release reserves the lock for the process
-- that has waited longest. If rows are lost, waiters only wait longer.
CREATE TABLE rowlock_lease_waiter (
    namespace TEXT    NOT NULL COLLATE BINARY,
    name      TEXT    NOT NULL COLLATE BINARY,
    id        TEXT    NOT NULL, -- a random id of this row
    since     INTEGER NOT NULL, -- when the process began to wait
    seen_at   INTEGER NOT NULL, -- when the process last confirmed that it still waits; after 3 s the process counts as dead
    PRIMARY KEY (namespace, name, id)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_waiter;
DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
