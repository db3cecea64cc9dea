-- Parameters: $1 slot.
-- Result: one row: the operation that was committed last with the slot, or 0.
-- Promise: waits for the transaction that holds the slot. A write and no read: a read does not wait for a row that is not committed yet. Changes no operation.
INSERT INTO rowlock_lease_outcome AS o (slot, operation, committed_at)
VALUES ($1::text::uuid, 0, clock_timestamp())
    ON CONFLICT (slot) DO UPDATE
   SET operation = o.operation
RETURNING o.operation
