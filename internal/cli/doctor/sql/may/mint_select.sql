-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN SELECT * FROM rowlock_lease_mint
