-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease_waiter SET alive_until = alive_until, callable = callable WHERE name = ''
