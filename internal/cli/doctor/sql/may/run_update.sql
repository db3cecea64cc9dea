-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN UPDATE rowlock_lease_run SET ended_at = ended_at, outcome = outcome, exit_code = exit_code WHERE name = ''
