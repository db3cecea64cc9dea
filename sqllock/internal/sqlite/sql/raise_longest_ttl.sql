-- Parameters: ?1 the time, in microseconds, for which a grant may keep a lock unavailable without a renewal.
-- Result: none.
-- Promise: the stored value never falls. The raised value is committed before a grant may keep a lock unavailable for that time.
UPDATE rowlock_lease_meta SET longest_ttl_us = ?1 WHERE id = 1 AND longest_ttl_us < ?1
