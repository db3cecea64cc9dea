-- +goose Up

-- Who may write to the tables that package fence protects: a lease that has passed a check in this
-- transaction, or an administrator. The row is deleted before the transaction commits, so that no
-- other one ever sees it.
CREATE TABLE rowlock_lease_fence_pass (
    nonce TEXT UNIQUE, -- of the lease
    why   TEXT         -- of the administrator, for people; NULL for a lease
);

-- +goose Down

DROP TABLE rowlock_lease_fence_pass;
