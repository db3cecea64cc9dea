-- +goose Up

-- Where package advisory takes its tokens from, under the lock. Half of a token is the server's
-- timeline, so 40 bits are left. CACHE must stay 1: a session that took numbers in advance would
-- hand them out in another order than the locks. It must not be UNLOGGED.
CREATE SEQUENCE rowlock_lease_token AS bigint MINVALUE 1 MAXVALUE 1099511627775 NO CYCLE CACHE 1;

-- +goose Down

DROP SEQUENCE rowlock_lease_token;
