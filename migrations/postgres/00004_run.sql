-- +goose Up

-- The history of "rowlock run": one row for each run, and one row for each refusal, which is an attempt that did not
-- get the lock. "rowlock run" inserts the row of a run when the run starts, and completes the row when the run ends.
-- For each lock it keeps the last hundred runs and the last hundred refusals. Locks do not depend on this table:
-- its rows may be deleted at any time.
CREATE TABLE rowlock_lease_run (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    started_at timestamptz NOT NULL, -- when the lock was granted or refused
    id         uuid        NOT NULL,
    ended_at   timestamptz NULL,     -- NULL while the command runs, and forever if "rowlock run" was killed
    waited_us  bigint      NOT NULL, -- how long "rowlock run" waited for the lock, in microseconds
    outcome    text        NOT NULL, -- of a run: running, exited, timeout, lost or failed; of a refusal: held or skipped
    exit_code  integer     NULL,     -- the exit code of "rowlock run"; NULL if ended_at is NULL
    token      bigint      NOT NULL, -- the token of the grant; 0 for a refusal
    holder     text        NOT NULL, -- the description of the process that ran or was refused, for people
    note       text        NOT NULL, -- why the lock is held, for people
    held_by    text        NOT NULL, -- for a refusal: the holder that had the lock
    PRIMARY KEY (namespace, name, started_at, id)
);

-- +goose Down

DROP TABLE rowlock_lease_run;
