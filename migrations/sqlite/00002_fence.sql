-- +goose Up

-- One row a resource that the fence package protects: the token of the newest holder that has
-- sealed it. A row is never deleted: an older holder would pass again. Times are microseconds since
-- 1970.
CREATE TABLE rowlock_lease_fence (
    namespace TEXT    NOT NULL COLLATE BINARY,
    resource  TEXT    NOT NULL COLLATE BINARY,
    token     INTEGER NOT NULL, -- of the lease that sealed last
    nonce     TEXT    NOT NULL, -- of that lease
    sealed_at INTEGER NOT NULL, -- for people
    PRIMARY KEY (namespace, resource)
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_fence;
