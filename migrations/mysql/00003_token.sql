-- +goose Up

-- The tokens of package mysqlock: one row for each name that package mysqlock ever locked with GET_LOCK.
-- The package increments the token while it holds the lock. The lock itself is in the memory of the server.
-- The row describes the last grant of the lock. The grant has ended when its connection no longer holds the lock.
CREATE TABLE IF NOT EXISTS rowlock_lease_counter (
    namespace  VARBINARY(128)  NOT NULL,
    name       VARBINARY(512)  NOT NULL,
    token      BIGINT          NOT NULL, -- the token of the last grant
    connection BIGINT UNSIGNED NOT NULL, -- CONNECTION_ID() of the session that was granted the lock last
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the holder's description of itself, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    granted_at DATETIME(6)     NOT NULL,
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_counter;
