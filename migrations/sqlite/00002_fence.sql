-- +goose Up

-- Times are microseconds since 1970.

-- The marks of package fence: one row for each resource that package fence protects, with the token of the newest
-- holder that has sealed. If a row were deleted, the resource would accept an older holder again. So a row stays
-- until a guard's Prune deletes it.
CREATE TABLE rowlock_lease_fence (
    namespace TEXT    NOT NULL COLLATE BINARY,
    resource  TEXT    NOT NULL COLLATE BINARY,
    token     INTEGER NOT NULL, -- the token of the lease that has sealed last; 0 after a reset
    nonce     TEXT    NOT NULL, -- the nonce of the lease that has sealed last
    domain    TEXT    NOT NULL COLLATE BINARY, -- the token domain: the kind of store and the lock that the token comes from. Tokens of two
                                               -- domains are never compared. Empty after a reset: the next seal sets the domain
    era       INTEGER NOT NULL DEFAULT 0, -- the number of times that an operator has reset the mark
    sealed_at INTEGER NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
) WITHOUT ROWID;

-- The outcomes of package fence's transactions. Each transaction writes its number into a row, called a slot,
-- that no concurrent transaction uses. If a commit returns an error, the number in the slot tells whether the
-- transaction was committed nevertheless. Later transactions reuse the slots, so the table has about as many rows as
-- there are concurrent transactions.
CREATE TABLE rowlock_lease_outcome (
    slot         TEXT    NOT NULL PRIMARY KEY,
    operation    INTEGER NOT NULL, -- the number of the last committed transaction that used the slot
    committed_at INTEGER NOT NULL  -- when that transaction wrote the row
) WITHOUT ROWID;

-- A row lets the current transaction write to protected tables. The row is either for a lease that has passed a check
-- in this transaction, or for an administrator. The transaction deletes the row before it commits, so no other
-- transaction ever sees the row.
CREATE TABLE rowlock_lease_fence_pass (
    nonce TEXT UNIQUE, -- the nonce of the lease that has passed the check; NULL for an administrator
    why   TEXT         -- why the administrator writes without a check, for people; NULL for a lease
);

-- +goose Down

DROP TABLE rowlock_lease_fence_pass;
DROP TABLE rowlock_lease_outcome;
DROP TABLE rowlock_lease_fence;
