-- +goose Up

-- What became of the runs of the command: one row a run, and one for each time that it was refused. "rowlock run" writes
-- it at its start, completes it at its end, and keeps the last hundred of each sort; no lock depends on it, and rows may be deleted at any time.
-- Names are bytes. Times are UTC.
CREATE TABLE IF NOT EXISTS rowlock_lease_run (
    namespace  VARBINARY(128) NOT NULL,
    name       VARBINARY(512) NOT NULL,
    started_at DATETIME(6)    NOT NULL, -- when the lock was granted, or was asked for in vain
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ended_at   DATETIME(6)    NULL,     -- NULL for as long as it runs, and for good if "rowlock run" was killed
    waited_us  BIGINT         NOT NULL, -- for the lock, in microseconds
    outcome    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- running, exited, timeout, lost, failed; refused: held or skipped
    exit_code  INT            NULL,     -- of "rowlock run"; NULL as ended_at is
    token      BIGINT         NOT NULL, -- of the grant; zero if there was none
    holder     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- who ran, or was refused, for people
    note       TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- why, for people
    held_by    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- of one who was refused: who had the lock
    PRIMARY KEY (namespace, name, started_at, id)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_run;
