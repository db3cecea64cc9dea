-- +goose Up

-- Who is next: of those who wait for a lock that is held, one has its place here, and a release keeps
-- the lock for it for a moment. Nobody is next of a lock that nobody waits for.
ALTER TABLE rowlock_lease
    ADD COLUMN reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, -- the process that is next
    ADD COLUMN reserved_at  DATETIME(6) NULL -- when it was last seen; NULL if nobody is next
;

-- +goose Down

ALTER TABLE rowlock_lease DROP COLUMN reserved_at, DROP COLUMN reserved_for;
