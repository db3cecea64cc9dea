-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN INSERT INTO rowlock_lease_run (namespace, name, started_at, id, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
SELECT namespace, name, started_at, id, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by FROM rowlock_lease_run
