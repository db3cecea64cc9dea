-- Parameters: for how many microseconds a slot must not have been used.
-- Result: one row a slot.
-- Promise: reads only, and waits for nobody.
SELECT o.slot
  FROM rowlock_lease_outcome AS o
 WHERE o.committed_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
