-- +goose Up

-- The history of the command: one row for each run, and one for each time that the lock was refused. "rowlock run" inserts the row
-- at its start and completes it at its end. It keeps the last hundred rows of each sort. No lock depends on them: rows may be deleted
-- at any time.
CREATE TABLE IF NOT EXISTS rowlock_lease_run (
    namespace  VARBINARY(128) NOT NULL,
    name       VARBINARY(512) NOT NULL,
    started_at DATETIME(6)    NOT NULL, -- when the lock was granted or refused
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ended_at   DATETIME(6)    NULL,     -- NULL while the run lasts, and forever if "rowlock run" was killed
    waited_us  BIGINT         NOT NULL, -- how long it waited for the lock, in microseconds
    outcome    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of a run: running, exited, timeout, lost or failed,
                                                                           -- and of a refusal: held or skipped
    exit_code  INT            NULL,     -- of "rowlock run"; NULL where ended_at is
    token      BIGINT         NOT NULL, -- the token of the grant; 0 for a refusal
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who ran or was refused, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why the lock is held, for people
    held_by    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- for a refusal: who held the lock
    PRIMARY KEY (namespace, name, started_at, id)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_run;
