-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease_run SET ended_at = ended_at, outcome = outcome, exit_code = exit_code WHERE name = ''
