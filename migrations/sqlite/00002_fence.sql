-- +goose Up

-- Times are microseconds since 1970.

-- The marks of package fence: one row for each resource that it protects, with the token of the newest holder that sealed it.
-- Without its mark a resource accepts an older holder again. So a row stays.
CREATE TABLE rowlock_lease_fence (
    namespace TEXT    NOT NULL COLLATE BINARY,
    resource  TEXT    NOT NULL COLLATE BINARY,
    token     INTEGER NOT NULL, -- the token of the lease that sealed last; 0 after a reset
    nonce     TEXT    NOT NULL, -- the nonce of that lease
    domain    TEXT    NOT NULL COLLATE BINARY, -- where the token comes from: the kind of store and the lock; tokens of two domains
                                               -- are never compared; empty after a reset: then the next seal decides
    era       INTEGER NOT NULL DEFAULT 0, -- how many times an operator has reset the mark
    sealed_at INTEGER NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
) WITHOUT ROWID;

-- The outcomes of package fence's transactions. Each transaction writes its number into a slot that no other transaction uses at that time.
-- If a commit fails, the slot says whether the transaction was committed all the same. Slots are used again, so there are about as
-- many as transactions at a time.
CREATE TABLE rowlock_lease_outcome (
    slot         TEXT    NOT NULL PRIMARY KEY,
    operation    INTEGER NOT NULL, -- the number of the last transaction that was committed with the slot
    committed_at INTEGER NOT NULL  -- when that transaction wrote the row
) WITHOUT ROWID;

-- What may write to protected tables: a lease that has passed a check in this transaction, or an administrator. The row is deleted
-- before the transaction commits, so that no other transaction ever sees it.
CREATE TABLE rowlock_lease_fence_pass (
    nonce TEXT UNIQUE, -- of the lease
    why   TEXT         -- of the administrator, for people; NULL for a lease
);

-- +goose Down

DROP TABLE rowlock_lease_fence_pass;
DROP TABLE rowlock_lease_outcome;
DROP TABLE rowlock_lease_fence;
