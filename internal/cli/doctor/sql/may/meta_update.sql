-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease_meta SET epoch = '', quarantined_until = quarantined_until, longest_ttl_us = 0 WHERE id = 1
