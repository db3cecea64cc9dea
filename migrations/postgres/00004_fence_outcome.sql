-- +goose Up

-- What became of a transaction whose commit got no answer. A transaction of the fence package writes
-- its number into a row that no other transaction uses at that time. Read afterwards, the row says
-- whether the transaction was committed. The rows are used again, so there are about as many as
-- there were transactions at the same time; those of processes that have ended can be pruned. It must
-- not be UNLOGGED, and pages are left half empty, so that each update is a heap-only one.
CREATE TABLE rowlock_lease_outcome (
    slot         uuid        PRIMARY KEY,
    operation    bigint      NOT NULL, -- number of the last transaction that was committed with the slot
    committed_at timestamptz NOT NULL  -- when that transaction wrote the row
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- +goose Down

DROP TABLE rowlock_lease_outcome;
