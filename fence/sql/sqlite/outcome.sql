-- Parameters: ?1 slot.
-- Result: the operation that was committed last with the slot; no row if there is none.
-- Promise: reads only. The connection of the transaction was closed before, which rolls back what is not committed.
SELECT o.operation
  FROM rowlock_lease_outcome AS o
 WHERE o.slot = ?1
