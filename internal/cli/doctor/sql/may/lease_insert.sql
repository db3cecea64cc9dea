-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN INSERT INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
VALUES ('', '', 0, '', '', '2000-01-01', '2000-01-01', '2000-01-01')
