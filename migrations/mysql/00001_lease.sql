-- +goose Up

-- Neither MySQL nor MariaDB rolls back the statements of an interrupted migration. So every statement of every migration can run again.
-- On both, names are bytes, so that case and trailing spaces count: read them with CONVERT(name USING utf8mb4). Times are UTC.

-- The locks: one row for each name that was ever locked. A release keeps the row, because the next token must be larger.
-- Only the primary key is indexed.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    namespace    VARBINARY(128) NOT NULL,
    name         VARBINARY(512) NOT NULL,
    token        BIGINT         NOT NULL, -- the token of the current grant, or of the last grant; 0 if there was no grant
    nonce        CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the nonce of the request that was granted; NULL once the grant is released
    holder       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who holds the lock, for people
    note         TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    acquired_at  DATETIME(6)    NOT NULL, -- when the lock was granted
    expires_at   DATETIME(6)    NOT NULL, -- when the lease ends unless it is renewed
    held_until   DATETIME(6)    NOT NULL, -- until then nobody else is granted the lock; 1970 after a release that neither reserves the lock
                                          -- nor has a minimum hold to keep, so that the lock stays free if the clock is set back
    reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the process that a release reserved the lock for, until held_until,
                                                                      -- 50 ms later; NULL while a grant holds the lock
    -- The queue is in the row of the lock, because a statement then locks that row and no other. With a table of waiters, releases and
    -- waiters would lock each other's rows and deadlock.
    waiters      VARCHAR(3700) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the ids of the processes that wait, of 36 characters each, with
                                                                           -- commas between them, at most 100; NULL if no process waits
    next_seen_at DATETIME(6)    NULL, -- when the first process of the queue last confirmed that it waits; after 3 s it counts as dead
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- One row with the state that all locks share.
CREATE TABLE IF NOT EXISTS rowlock_lease_meta (
    id                TINYINT        NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             BIGINT         NOT NULL, -- every token that is granted from now on is larger
    epoch             VARBINARY(255) NOT NULL, -- the server that grants; empty before the first grant
    quarantined_until DATETIME(6)    NOT NULL, -- until then nothing is granted, because the server has changed
    longest_ttl_us    BIGINT         NOT NULL  -- the longest time that any grant closed a lock for, in microseconds, and at least a minute
) ENGINE = InnoDB;

INSERT IGNORE INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', '1970-01-01 00:00:00', 60000000);

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_meta;
DROP TABLE IF EXISTS rowlock_lease;
