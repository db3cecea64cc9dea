-- +goose Up

-- Neither MySQL nor MariaDB undoes the statements of a migration that was interrupted. So each statement of each migration finds out
-- whether it was run before: a migration can be run again from any point.

-- One row a lock, on MySQL and MariaDB. A row is never deleted when its lock is released: the next
-- token must be larger. Names are bytes, so that case and trailing space count: read them with
-- CONVERT(name USING utf8mb4). Times are UTC. Nothing but the primary key is indexed.
-- held_until is in 1970 if the lock is open at once, so that a clock that is set back does not close it again.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    namespace   VARBINARY(128) NOT NULL,
    name        VARBINARY(512) NOT NULL,
    token       BIGINT         NOT NULL, -- of the present grant, or the last one
    nonce       CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- of the present grant; NULL once it is released
    holder      TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who, for people
    note        TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why, for people
    acquired_at DATETIME(6)    NOT NULL,
    expires_at  DATETIME(6)    NOT NULL, -- the lease ends here unless it is renewed
    held_until  DATETIME(6)    NOT NULL, -- from here on the lock can be granted to another holder
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- One row: what is true of all locks.
CREATE TABLE IF NOT EXISTS rowlock_lease_meta (
    id                TINYINT        NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             BIGINT         NOT NULL, -- every token granted from now on is larger
    epoch             VARBINARY(255) NOT NULL, -- the server that grants; empty before the first grant
    quarantined_until DATETIME(6)    NOT NULL, -- nothing is granted before
    longest_ttl_us    BIGINT         NOT NULL, -- no lease was ever granted for longer, in microseconds
    schema_version    INT            NOT NULL
) ENGINE = InnoDB;

INSERT IGNORE INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us, schema_version)
VALUES (1, 0, '', '1970-01-01 00:00:00', 60000000, 1);

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_meta;
DROP TABLE IF EXISTS rowlock_lease;
