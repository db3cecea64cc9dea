-- Parameters: ?1 the microseconds for which a lock must have been free.
-- Result: one row: the parameter of prune.sql, in microseconds since 1970.
-- Promise: raises the floor to at least the largest token that prune.sql deletes in the same transaction.
UPDATE rowlock_lease_meta
   SET floor = max(floor, coalesce((SELECT max(l.token) FROM rowlock_lease l WHERE max(l.held_until, l.expires_at) <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?1), 0))
 WHERE id = 1
RETURNING CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?1
