-- +goose Up

-- MySQL and MariaDB cannot roll back the statements of an interrupted migration. So every statement of every migration
-- can run again. Names are stored as bytes, because names that differ only in case or in trailing spaces are different.
-- Read them with CONVERT(name USING utf8mb4). Times are UTC.

-- The locks: one row for each name that was ever locked. A release does not delete the row, because the lock's next
-- token must be larger than the token in the row. The primary key is the only index.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    namespace    VARBINARY(128) NOT NULL,
    name         VARBINARY(512) NOT NULL,
    token        BIGINT         NOT NULL, -- the token of the newest grant, which may have ended; 0 if the lock was never granted
    nonce        CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the nonce of the request that was granted; NULL after the release
    holder       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the holder's description of itself, for people
    note         TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    acquired_at  DATETIME(6)    NOT NULL, -- when the lock was granted
    expires_at   DATETIME(6)    NOT NULL, -- when the lease ends, unless the holder renews it before
    held_until   DATETIME(6)    NOT NULL, -- until this time no other holder is granted the lock. A release sets the end of the reservation or
                                          -- of the minimum hold. Without either it sets 1970, so that the lock is free even if the clock is set back
    reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the process for which the last release reserved the lock until
                                                                      -- held_until (for 50 ms); NULL while the lock is held
    done         VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, -- the last tick that a release recorded as done; NULL if there is none
    -- The queue is in the row of the lock, so that each statement locks only this row. With a separate table of
    -- waiters, a release and a waiter would lock rows in opposite orders, and could deadlock.
    waiters      VARCHAR(14800) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the ids of the waiting processes, separated by commas: at most 400
                                                                            -- ids of 36 characters each; NULL if no process waits
    next_until   DATETIME(6)    NULL, -- until this time the first process of the queue counts as waiting; it confirms that it waits before
    readers      JSON           NULL, -- the leases of the readers that hold the lock: an object with the nonce of each lease as key, and the
                                      -- expiry of the lease in microseconds since 1970 as value. NULL if no reader holds the lock. While readers
                                      -- hold the lock, the column nonce is derived from token, and expires_at is the last expiry of these leases
    writer_until DATETIME(6)    NULL, -- until this time no further reader is granted the lock, because writers wait; NULL if no writer waits
    writers      VARCHAR(3700) CHARACTER SET ascii COLLATE ascii_bin NULL, -- until writer_until: the nonces of these writers, separated by commas, at most 100.
                                                                           -- A writer that gives up removes its nonce. After writer_until the column has no meaning
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- One row with the state that all locks share.
CREATE TABLE IF NOT EXISTS rowlock_lease_meta (
    id                TINYINT        NOT NULL PRIMARY KEY CHECK (id = 1),
    floor             BIGINT         NOT NULL, -- every future grant has a larger token than this number
    epoch             VARBINARY(255) NOT NULL, -- identifies the server that grants the locks; empty before the first grant
    quarantined_until DATETIME(6)    NOT NULL, -- until this time no lock is granted, because another server has begun to grant locks
    -- The largest TTL plus hand-over delay, or minimum hold, of all grants so far, in microseconds; at least a minute. When another
    -- server begins to grant locks, no lock is granted for this time, because the new server may not know the last grants.
    longest_ttl_us    BIGINT         NOT NULL
) ENGINE = InnoDB;

INSERT IGNORE INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', '1970-01-01 00:00:00', 60000000);

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_meta;
DROP TABLE IF EXISTS rowlock_lease;
