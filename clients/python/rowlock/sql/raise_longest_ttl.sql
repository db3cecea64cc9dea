-- Parameters: $1 the time, in microseconds, for which a grant may keep a lock unavailable without a renewal.
-- Result: no rows; changes one row if $1 is larger than the stored value.
-- Promise: the stored value never falls. The raised value is committed before a grant may keep a lock unavailable for that time. So a quarantine outlasts the lease of that grant.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true)
)
UPDATE rowlock_lease_meta m
   SET longest_ttl_us = $1::bigint
  FROM bounded
 WHERE m.id = 1
   AND m.longest_ttl_us < $1::bigint
