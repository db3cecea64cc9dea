-- Parameters: none.
-- Result: none.
-- Promise: deletes the rows of waiters that have not confirmed for a minute that they wait, because their processes have ended.
DELETE FROM rowlock_lease_waiter WHERE seen_at < CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - 60000000
