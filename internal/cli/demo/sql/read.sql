-- Parameters: name.
-- Result: one row, amount.
-- Promise: takes no locks: the lock and the fence exclude other workers.
SELECT amount
  FROM rowlock_demo
 WHERE name = ?
