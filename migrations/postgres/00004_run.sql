-- +goose Up

-- The history of the command: one row for each run, and one for each time that the lock was refused. "rowlock run" inserts the row
-- at its start and completes it at its end. It keeps the last hundred rows of each sort. No lock depends on them: rows may be deleted
-- at any time.
CREATE TABLE rowlock_lease_run (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL, -- when the lock was granted or refused
    id         uuid        NOT NULL,
    ended_at   timestamptz NULL,     -- NULL while the run lasts, and forever if "rowlock run" was killed
    waited_us  bigint      NOT NULL, -- how long it waited for the lock, in microseconds
    outcome    text        NOT NULL, -- of a run: running, exited, timeout, lost or failed; of a refusal: held or skipped
    exit_code  integer     NULL,     -- of "rowlock run"; NULL where ended_at is
    token      bigint      NOT NULL, -- the token of the grant; 0 for a refusal
    holder     text        NOT NULL, -- who ran or was refused, for people
    note       text        NOT NULL, -- why the lock is held, for people
    held_by    text        NOT NULL, -- for a refusal: who held the lock
    PRIMARY KEY (namespace, name, started_at, id)
);

-- +goose Down

DROP TABLE rowlock_lease_run;
