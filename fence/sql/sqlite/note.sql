-- Parameters: ?1 slot, ?2 operation (the number of the transaction).
-- Result: none.
-- Promise: the row has this operation if and only if the transaction commits.
INSERT INTO rowlock_lease_outcome (slot, operation, committed_at)
VALUES (?1, ?2, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    ON CONFLICT (slot) DO UPDATE
   SET operation = excluded.operation, committed_at = excluded.committed_at
