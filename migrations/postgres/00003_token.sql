-- +goose Up

-- The sequence for the tokens of package advisory. The package calls nextval while it holds the lock.
-- The low 40 bits of a token are a number of this sequence, and the high bits are the timeline of the server.
-- CACHE must stay 1: a session that caches numbers would grant locks with tokens out of order. The sequence must not be
-- UNLOGGED.
CREATE SEQUENCE rowlock_lease_token AS bigint MINVALUE 1 MAXVALUE 1099511627775 NO CYCLE CACHE 1;

-- +goose Down

DROP SEQUENCE rowlock_lease_token;
