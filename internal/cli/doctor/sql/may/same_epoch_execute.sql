-- Parameters: none.
-- Result: a plan, or the error of a privilege or a function that is missing.
-- Promise: carries nothing out.
EXPLAIN SELECT rowlock_lease_same_epoch(''::text)
