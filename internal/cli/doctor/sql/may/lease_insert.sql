-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN INSERT INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
VALUES ('', '', 0, '', '', '2000-01-01', '2000-01-01', '2000-01-01')
