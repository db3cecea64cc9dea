-- +goose Up

-- Where package mysqlock takes its tokens from, under the lock: one row a name that was ever locked
-- with GET_LOCK. The lock itself is the server's and in no table; the row says who was granted it last.
-- It is of that grant only while its connection is the one that holds the lock. Names are bytes.
-- Times are UTC.
CREATE TABLE IF NOT EXISTS rowlock_lease_counter (
    namespace  VARBINARY(128)  NOT NULL,
    name       VARBINARY(512)  NOT NULL,
    token      BIGINT          NOT NULL, -- of the last grant
    connection BIGINT UNSIGNED NOT NULL, -- that it was granted to
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why, for people
    granted_at DATETIME(6)     NOT NULL,
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_counter;
