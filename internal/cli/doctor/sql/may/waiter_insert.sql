-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN INSERT INTO rowlock_lease_waiter (namespace, name, id, since, alive_until) SELECT namespace, name, id, since, alive_until FROM rowlock_lease_waiter
