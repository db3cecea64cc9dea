-- +goose Up

-- One row a resource that the fence package protects: the token of the newest holder that has
-- sealed it. A row is never deleted: an older holder would pass again. Names are bytes, as in the
-- lease table. Times are UTC.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence (
    namespace VARBINARY(128) NOT NULL,
    resource  VARBINARY(512) NOT NULL,
    token     BIGINT         NOT NULL, -- of the lease that sealed last
    nonce     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- of that lease
    sealed_at DATETIME(6)    NOT NULL, -- for people
    PRIMARY KEY (namespace, resource)
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_fence;
