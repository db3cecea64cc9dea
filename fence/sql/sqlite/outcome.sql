-- Parameters: ?1 slot.
-- Result: the last operation that was committed in the row of this slot; no row if there is none.
-- Promise: reads only. The transaction's connection was closed before. Closing rolled back what was not committed.
SELECT o.operation
  FROM rowlock_lease_outcome AS o
 WHERE o.slot = ?1
