-- +goose Up

-- What became of the runs of the command: one row a run, and one for each time that it was refused. "rowlock run" writes
-- it at its start, completes it at its end, and keeps the last hundred of each sort; no lock depends on it, and rows may be deleted at any time.
CREATE TABLE rowlock_lease_run (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL, -- when the lock was granted, or was asked for in vain
    id         uuid        NOT NULL,
    ended_at   timestamptz NULL,     -- NULL for as long as it runs, and for good if "rowlock run" was killed
    waited_us  bigint      NOT NULL, -- for the lock, in microseconds
    outcome    text        NOT NULL, -- running, exited, timeout, lost, failed; refused: held or skipped
    exit_code  integer     NULL,     -- of "rowlock run"; NULL as ended_at is
    token      bigint      NOT NULL, -- of the grant; zero if there was none
    holder     text        NOT NULL, -- who ran, or was refused, for people
    note       text        NOT NULL, -- why, for people
    held_by    text        NOT NULL, -- of one who was refused: who had the lock
    PRIMARY KEY (namespace, name, started_at, id)
);

-- +goose Down

DROP TABLE rowlock_lease_run;
