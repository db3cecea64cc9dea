-- +goose Up

-- One row a resource that the fence package protects: the token of the newest holder that has
-- sealed it. A row is never deleted: an older holder would pass again. It must not be UNLOGGED: a
-- mark that is lost in a crash lets an older holder pass.
CREATE TABLE rowlock_lease_fence (
    namespace text COLLATE "C" NOT NULL,
    resource  text COLLATE "C" NOT NULL,
    token     bigint      NOT NULL, -- of the lease that sealed last
    nonce     uuid        NOT NULL, -- of that lease
    sealed_at timestamptz NOT NULL, -- for people
    PRIMARY KEY (namespace, resource)
);

-- +goose Down

DROP TABLE rowlock_lease_fence;
