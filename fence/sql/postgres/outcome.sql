-- Parameters: $1 slot.
-- Result: one row: the last operation that was committed in the row of this slot, or 0.
-- Promise: waits for the transaction that has locked the row. The statement has to write, because a read does not wait for an uncommitted row. It does not change the operation.
INSERT INTO rowlock_lease_outcome AS o (slot, operation, committed_at)
VALUES ($1::text::uuid, 0, clock_timestamp())
    ON CONFLICT (slot) DO UPDATE
   SET operation = o.operation
RETURNING o.operation
