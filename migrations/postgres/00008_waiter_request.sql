-- +goose Up

-- The request that the first of a process's waiters has left with its row: a release grants the lock to it
-- in the same step, instead of keeping the lock for whoever it calls. Without a nonce there is none.
ALTER TABLE rowlock_lease_waiter
    ADD COLUMN nonce       uuid,
    ADD COLUMN holder      text   NOT NULL DEFAULT '',
    ADD COLUMN note        text   NOT NULL DEFAULT '',
    ADD COLUMN ttl_us      bigint NOT NULL DEFAULT 0, -- as asked for, in microseconds; so the two below
    ADD COLUMN min_hold_us bigint NOT NULL DEFAULT 0,
    ADD COLUMN handover_us bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE rowlock_lease_waiter
    DROP COLUMN nonce,
    DROP COLUMN holder,
    DROP COLUMN note,
    DROP COLUMN ttl_us,
    DROP COLUMN min_hold_us,
    DROP COLUMN handover_us;
