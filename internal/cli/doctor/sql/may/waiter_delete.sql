-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN DELETE FROM rowlock_lease_waiter WHERE name = ''
