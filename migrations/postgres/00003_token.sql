-- +goose Up

-- The tokens of package advisory, which takes them while it holds the lock. A token has 40 bits of this sequence, below the timeline of
-- the server. CACHE must stay 1: a session that took numbers in advance would grant locks with tokens out of order. It must not be
-- UNLOGGED.
CREATE SEQUENCE rowlock_lease_token AS bigint MINVALUE 1 MAXVALUE 1099511627775 NO CYCLE CACHE 1;

-- +goose Down

DROP SEQUENCE rowlock_lease_token;
