-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN INSERT INTO rowlock_lease_run (namespace, name, started_at, id, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
SELECT namespace, name, started_at, id, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by FROM rowlock_lease_run
