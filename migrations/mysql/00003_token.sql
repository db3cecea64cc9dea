-- +goose Up

-- The tokens of package mysqlock: one row. A token is token + (n - number), where n is a number that UUID_SHORT has
-- returned while the lock was held. UUID_SHORT counts in the memory of the server, so a grant writes nothing.
CREATE TABLE IF NOT EXISTS rowlock_lease_mint (
    id       TINYINT        NOT NULL PRIMARY KEY CHECK (id = 1),
    run      VARBINARY(512) NOT NULL, -- the server that makes the tokens, and the second in which it was started; empty before the first token
    number   BIGINT         NOT NULL, -- the number of UUID_SHORT, without the server's id, with which this run began to make tokens
    token    BIGINT         NOT NULL, -- the token for that number
    reserved BIGINT         NOT NULL  -- no larger token has been granted; another run begins above it
) ENGINE = InnoDB;

INSERT IGNORE INTO rowlock_lease_mint (id, run, number, token, reserved) VALUES (1, '', 0, 0, 0);

-- The grants of package mysqlock, for people: one row for each name that the package locked with GET_LOCK. The lock
-- itself is in the memory of the server. The row describes the last grant of the lock, except in a loop of short holds.
-- The grant has ended when its connection no longer holds the lock. No token depends on this table.
CREATE TABLE IF NOT EXISTS rowlock_lease_counter (
    namespace  VARBINARY(128)  NOT NULL,
    name       VARBINARY(512)  NOT NULL,
    token      BIGINT          NOT NULL, -- the token of the grant
    connection BIGINT UNSIGNED NOT NULL, -- CONNECTION_ID() of the session that was granted the lock; 0 if a later grant is not described
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the holder's description of itself, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    granted_at DATETIME(6)     NOT NULL,
    PRIMARY KEY (namespace, name)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_counter;
DROP TABLE IF EXISTS rowlock_lease_mint;
