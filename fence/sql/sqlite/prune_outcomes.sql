-- Parameters: ?1 the time in microseconds for which a slot must not have been used.
-- Result: the number of rows deleted.
-- Promise: deletes rows that were unused for that time.
DELETE FROM rowlock_lease_outcome
 WHERE committed_at < CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?1
