-- Parameters: slot.
-- Result: the last operation that was committed in the row of this slot; no row if there is none.
-- Promise: waits for the transaction that has locked the row, even if that transaction has inserted the row. Changes nothing.
SELECT o.operation
  FROM rowlock_lease_outcome AS o
 WHERE o.slot = ?
   FOR UPDATE
