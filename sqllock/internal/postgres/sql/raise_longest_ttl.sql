-- Parameters: $1 the time, in microseconds, for which a grant may close a lock without a renewal.
-- Result: no rows; changes one row if $1 is larger than the stored value.
-- Promise: the stored value never falls. It is committed before any lease of that length is granted, so that a quarantine outlasts the lease.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true)
)
UPDATE rowlock_lease_meta m
   SET longest_ttl_us = $1::bigint
  FROM bounded
 WHERE m.id = 1
   AND m.longest_ttl_us < $1::bigint
