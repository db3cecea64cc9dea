-- +goose Up

-- One row a lock. A row is never deleted when its lock is released: the next token must be larger.
-- Times are microseconds since 1970. held_until is 0 if the lock is open at once, so that a clock that is set back does not close it again.
CREATE TABLE rowlock_lease (
    namespace   TEXT    NOT NULL COLLATE BINARY,
    name        TEXT    NOT NULL COLLATE BINARY,
    token       INTEGER NOT NULL, -- of the present grant, or the last one
    nonce       TEXT,             -- of the present grant; NULL once it is released
    holder      TEXT    NOT NULL, -- who, for people
    note        TEXT    NOT NULL, -- why, for people
    acquired_at INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL, -- the lease ends here unless it is renewed
    held_until  INTEGER NOT NULL, -- from here on the lock can be granted to another holder
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- One row: what is true of all locks.
CREATE TABLE rowlock_lease_meta (
    id                INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             INTEGER NOT NULL, -- every token granted from now on is larger
    epoch             TEXT    NOT NULL, -- the database that grants; empty before the first grant
    quarantined_until INTEGER NOT NULL, -- nothing is granted before
    longest_ttl_us    INTEGER NOT NULL, -- no lease was ever granted for longer, in microseconds
    schema_version    INTEGER NOT NULL
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us, schema_version)
VALUES (1, 0, '', 0, 60000000, 1);

-- +goose Down

DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
