-- Parameters: slot, and for how many microseconds it must not have been used.
-- Result: the number of rows deleted.
-- Promise: locks this slot only, and forgets it if it is unused still.
DELETE FROM rowlock_lease_outcome
 WHERE slot = ? AND committed_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
