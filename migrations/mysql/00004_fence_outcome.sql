-- +goose Up

-- What became of a transaction whose commit got no answer. A transaction of the fence package writes
-- its number into a row that no other transaction uses at that time. Read afterwards, the row says
-- whether the transaction was committed. The rows are used again, so there are about as many as
-- there were transactions at the same time; those of processes that have ended can be pruned. Times
-- are UTC.
CREATE TABLE IF NOT EXISTS rowlock_lease_outcome (
    slot         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    operation    BIGINT      NOT NULL, -- number of the last transaction that was committed with the slot
    committed_at DATETIME(6) NOT NULL  -- when that transaction wrote the row
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_outcome;
