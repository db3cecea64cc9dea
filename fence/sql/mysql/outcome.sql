-- Parameters: slot.
-- Result: the operation that was committed last with the slot; no row if there is none.
-- Promise: waits for the transaction that holds the slot, also if that has inserted the row. Changes nothing.
SELECT o.operation
  FROM rowlock_lease_outcome AS o
 WHERE o.slot = ?
   FOR UPDATE
