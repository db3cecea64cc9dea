-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN INSERT INTO rowlock_lease_waiter (namespace, name, id, since, seen_at) SELECT namespace, name, id, since, seen_at FROM rowlock_lease_waiter
