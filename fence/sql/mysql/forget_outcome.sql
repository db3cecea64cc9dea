-- Parameters: slot (the key of an outcome row), and the time in microseconds for which the row must not have been used.
-- Result: the number of rows deleted.
-- Promise: locks this row only, and deletes it if it is still unused.
DELETE FROM rowlock_lease_outcome
 WHERE slot = ? AND committed_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
