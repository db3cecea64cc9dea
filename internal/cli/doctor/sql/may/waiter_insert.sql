-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN INSERT INTO rowlock_lease_waiter (namespace, name, id, since, seen_at) SELECT namespace, name, id, since, seen_at FROM rowlock_lease_waiter
