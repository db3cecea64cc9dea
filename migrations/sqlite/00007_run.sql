-- +goose Up

-- What became of the runs of the command: one row a run, and one for each time that it was refused. "rowlock run" writes
-- it at its start, completes it at its end, and keeps the last hundred of each sort; no lock depends on it, and rows may be deleted at any time.
-- Times are microseconds since 1970.
CREATE TABLE rowlock_lease_run (
    namespace  TEXT    NOT NULL COLLATE BINARY,
    name       TEXT    NOT NULL COLLATE BINARY,
    started_at INTEGER NOT NULL, -- when the lock was granted, or was asked for in vain
    id         TEXT    NOT NULL,
    ended_at   INTEGER NULL,     -- NULL for as long as it runs, and for good if "rowlock run" was killed
    waited_us  INTEGER NOT NULL, -- for the lock, in microseconds
    outcome    TEXT    NOT NULL, -- running, exited, timeout, lost, failed; refused: held or skipped
    exit_code  INTEGER NULL,     -- of "rowlock run"; NULL as ended_at is
    token      INTEGER NOT NULL, -- of the grant; zero if there was none
    holder     TEXT    NOT NULL, -- who ran, or was refused, for people
    note       TEXT    NOT NULL, -- why, for people
    held_by    TEXT    NOT NULL, -- of one who was refused: who had the lock
    PRIMARY KEY (namespace, name, started_at, id)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_run;
