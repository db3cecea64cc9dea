-- +goose Up

-- The tokens of package mysqlock, which takes them while it holds the lock: one row for each name that was ever locked with GET_LOCK.
-- The lock itself is in the memory of the server. The row says who was granted it last. That grant is over once its connection no
-- longer holds the lock.
CREATE TABLE IF NOT EXISTS rowlock_lease_counter (
    namespace  VARBINARY(128)  NOT NULL,
    name       VARBINARY(512)  NOT NULL,
    token      BIGINT          NOT NULL, -- the token of the last grant
    connection BIGINT UNSIGNED NOT NULL, -- the connection of the last grant
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who holds the lock, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    granted_at DATETIME(6)     NOT NULL,
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_counter;
