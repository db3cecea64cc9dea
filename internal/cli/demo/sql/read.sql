-- Parameters: name. Result: one row: the amount. Promise: locks no rows in the database, because rowlock's lock and the
-- fence exclude other workers.
SELECT amount
  FROM rowlock_demo
 WHERE name = ?
