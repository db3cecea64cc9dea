-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN UPDATE rowlock_lease_meta SET epoch = '', quarantined_until = quarantined_until, longest_ttl_us = 0 WHERE id = 1
