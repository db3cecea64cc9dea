-- Parameters: ?1 the time, in microseconds, for which a lock may be closed by a grant without renewal.
-- Result: none.
-- Promise: the value never falls, and is committed before any lease of that length is granted.
UPDATE rowlock_lease_meta SET longest_ttl_us = ?1 WHERE id = 1 AND longest_ttl_us < ?1
