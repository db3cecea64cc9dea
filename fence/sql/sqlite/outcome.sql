-- Parameters: ?1 slot.
-- Result: the last operation that was committed in the row of this slot; no row if there is none.
-- Promise: reads only. The connection of the transaction was closed before this read, and closing it rolled back an uncommitted transaction.
SELECT o.operation
  FROM rowlock_lease_outcome AS o
 WHERE o.slot = ?1
