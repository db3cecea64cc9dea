-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN UPDATE rowlock_lease_waiter SET seen_at = seen_at, callable = callable WHERE name = ''
