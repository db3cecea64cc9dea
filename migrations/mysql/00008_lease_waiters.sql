-- +goose Up

-- Who waits, in the order in which they came: the ids of their processes, with commas in between; NULL if nobody does.
-- The first of them is next. reserved_at is when it was last seen.
ALTER TABLE rowlock_lease
    ADD COLUMN waiters VARCHAR(3700) CHARACTER SET ascii COLLATE ascii_bin NULL,
    DROP COLUMN reserved_for;

-- +goose Down

ALTER TABLE rowlock_lease
    ADD COLUMN reserved_for CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
    DROP COLUMN waiters;
