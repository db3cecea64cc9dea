-- Parameters: $1 slot, $2 operation (the number of the transaction).
-- Result: none.
-- Promise: the row has this operation if and only if the transaction commits. The transaction locks the row until it ends.
INSERT INTO rowlock_lease_outcome (slot, operation, committed_at)
VALUES ($1::text::uuid, $2::bigint, clock_timestamp())
    ON CONFLICT (slot) DO UPDATE
   SET operation = excluded.operation, committed_at = excluded.committed_at
