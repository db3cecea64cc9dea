-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease_mint SET token = 0 WHERE id = 0
