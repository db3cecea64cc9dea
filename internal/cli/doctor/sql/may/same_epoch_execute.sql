-- Parameters: none.
-- Result: a plan, or the error about a missing privilege or function.
-- Promise: executes nothing.
EXPLAIN SELECT rowlock_lease_same_epoch(''::text)
