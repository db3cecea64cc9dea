-- +goose Up

-- The history of "rowlock run": one row for each run, and one row for each refusal, which is an attempt that did not
-- get the lock. "rowlock run" inserts the row of a run when the run starts, and completes the row when the run ends.
-- For each lock it keeps the last hundred runs and the last hundred refusals. Locks do not depend on this table:
-- its rows may be deleted at any time.
CREATE TABLE IF NOT EXISTS rowlock_lease_run (
    namespace  VARBINARY(128) NOT NULL,
    name       VARBINARY(512) NOT NULL,
    started_at DATETIME(6)    NOT NULL, -- when the lock was granted or refused
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ended_at   DATETIME(6)    NULL,     -- NULL while the command runs, and forever if "rowlock run" was killed
    waited_us  BIGINT         NOT NULL, -- how long "rowlock run" waited for the lock, in microseconds
    outcome    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of a run: running, exited, timeout, lost or failed,
                                                                           -- and of a refusal: held or skipped
    exit_code  INT            NULL,     -- the exit code of "rowlock run"; NULL if ended_at is NULL
    token      BIGINT         NOT NULL, -- the token of the grant; 0 for a refusal
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the description of the process that ran or was refused, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    held_by    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- for a refusal: the holder that had the lock
    PRIMARY KEY (namespace, name, started_at, id)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_run;
