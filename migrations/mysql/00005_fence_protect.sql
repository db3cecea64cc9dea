-- +goose Up

-- Who may write to the tables that package fence protects without a check: a session that has put
-- itself in here, and takes itself out again before it commits. Whoever may write to this table may.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence_pass (
    connection_id BIGINT UNSIGNED NOT NULL PRIMARY KEY, -- CONNECTION_ID() of the session
    why           VARCHAR(255)    NOT NULL              -- for people
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_fence_pass;
