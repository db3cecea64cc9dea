-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN UPDATE rowlock_lease_counter SET token = 0 WHERE name = ''
