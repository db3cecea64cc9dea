-- +goose Up

-- What became of a transaction whose commit failed. A transaction of the fence package writes its
-- number into a row that no other transaction uses at that time. Read afterwards, the row says
-- whether the transaction was committed. The rows are used again, so there are about as many as
-- there were transactions at the same time; those of processes that have ended can be pruned. Times
-- are microseconds since 1970.
CREATE TABLE rowlock_lease_outcome (
    slot         TEXT    NOT NULL PRIMARY KEY,
    operation    INTEGER NOT NULL, -- number of the last transaction that was committed with the slot
    committed_at INTEGER NOT NULL  -- when that transaction wrote the row
) WITHOUT ROWID;

-- +goose Down

DROP TABLE rowlock_lease_outcome;
