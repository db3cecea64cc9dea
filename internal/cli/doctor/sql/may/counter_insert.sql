-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN INSERT INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at) VALUES ('', '', 0, 0, '', '', '2000-01-01')
