-- +goose Up

-- Where a mark's token comes from: the kind of store and the lock. Tokens of two domains are never
-- compared; an empty domain is that of a mark that was reset, or that is older than this column, and
-- takes whichever seals next.
ALTER TABLE rowlock_lease_fence ADD COLUMN domain text COLLATE "C" NOT NULL DEFAULT '';

-- How often an operator has reset the mark.
ALTER TABLE rowlock_lease_fence ADD COLUMN era bigint NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE rowlock_lease_fence DROP COLUMN era;
ALTER TABLE rowlock_lease_fence DROP COLUMN domain;
