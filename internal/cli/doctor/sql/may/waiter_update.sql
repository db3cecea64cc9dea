-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease_waiter SET seen_at = seen_at, callable = callable WHERE name = ''
