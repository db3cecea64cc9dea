-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN INSERT INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at) VALUES ('', '', 0, 0, '', '', '2000-01-01')
