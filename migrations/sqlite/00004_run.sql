-- +goose Up

-- The history of the command: one row for each run, and one for each time that the lock was refused. "rowlock run" inserts the row
-- at its start and completes it at its end. It keeps the last hundred rows of each sort. No lock depends on them: rows may be deleted
-- at any time. Times are microseconds since 1970.
CREATE TABLE rowlock_lease_run (
    namespace  TEXT    NOT NULL COLLATE BINARY,
    name       TEXT    NOT NULL COLLATE BINARY,
    started_at INTEGER NOT NULL, -- when the lock was granted or refused
    id         TEXT    NOT NULL,
    ended_at   INTEGER NULL,     -- NULL while the run lasts, and forever if "rowlock run" was killed
    waited_us  INTEGER NOT NULL, -- how long it waited for the lock, in microseconds
    outcome    TEXT    NOT NULL, -- of a run: running, exited, timeout, lost or failed; of a refusal: held or skipped
    exit_code  INTEGER NULL,     -- of "rowlock run"; NULL where ended_at is
    token      INTEGER NOT NULL, -- the token of the grant; 0 for a refusal
    holder     TEXT    NOT NULL, -- who ran or was refused, for people
    note       TEXT    NOT NULL, -- why the lock is held, for people
    held_by    TEXT    NOT NULL, -- for a refusal: who held the lock
    PRIMARY KEY (namespace, name, started_at, id)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_run;
