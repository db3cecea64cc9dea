-- +goose Up

-- The history of "rowlock run": one row for each run, and one row for each refusal, which is an attempt that did not
-- get the lock. "rowlock run" inserts the row of a run when the run starts, and completes the row when the run ends.
-- For each lock it keeps the last hundred runs and the last hundred refusals. Locks do not depend on this table:
-- its rows may be deleted at any time. Times are microseconds since 1970.
CREATE TABLE rowlock_lease_run (
    namespace  TEXT    NOT NULL COLLATE BINARY,
    name       TEXT    NOT NULL COLLATE BINARY,
    started_at INTEGER NOT NULL, -- when the lock was granted or refused
    id         TEXT    NOT NULL,
    ended_at   INTEGER NULL,     -- NULL while the command runs, and forever if "rowlock run" was killed
    waited_us  INTEGER NOT NULL, -- how long "rowlock run" waited for the lock, in microseconds
    outcome    TEXT    NOT NULL, -- of a run: running, exited, timeout, lost or failed; of a refusal: held or skipped
    exit_code  INTEGER NULL,     -- the exit code of "rowlock run"; NULL if ended_at is NULL
    token      INTEGER NOT NULL, -- the token of the grant; 0 for a refusal
    holder     TEXT    NOT NULL, -- the description of the process that ran or was refused, for people
    note       TEXT    NOT NULL, -- why the lock is held, for people
    held_by    TEXT    NOT NULL, -- for a refusal: the holder that had the lock
    PRIMARY KEY (namespace, name, started_at, id)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_run;
