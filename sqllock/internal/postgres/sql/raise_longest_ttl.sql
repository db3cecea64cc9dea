-- Parameters: $1 the time, in microseconds, for which a lock may be closed by a grant without renewal.
-- Result: no rows; one row changed if the time is longer than any before.
-- Promise: it never falls; committed before any lease of that length is granted, so that a quarantine outlasts the lease.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true)
)
UPDATE rowlock_lease_meta m
   SET longest_ttl_us = $1::bigint
  FROM bounded
 WHERE m.id = 1
   AND m.longest_ttl_us < $1::bigint
