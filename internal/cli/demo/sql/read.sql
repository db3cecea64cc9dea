-- Parameters: name.
-- Result: one row, amount.
-- Promise: locks nothing: the lock and the fence keep others out.
SELECT amount
  FROM rowlock_demo
 WHERE name = ?
