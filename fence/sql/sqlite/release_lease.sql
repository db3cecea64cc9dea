-- Parameters: ?1 minimum hold in microseconds, ?2 the tick that is done, or NULL, ?3 namespace, ?4 name of the lock, ?5 nonce, ?6 token.
-- Result: none; one row changed if the lease was alive and is now released.
-- Promise: the commit ends this lease and no other lease, and records the tick. The row stays. No other process acquires the lock before the commit.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000,
       held_until = CASE WHEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?1 > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 THEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?1 ELSE 0 END,
       done = coalesce(?2, done)
 WHERE namespace = ?3 AND name = ?4
   AND nonce = ?5 AND token = ?6
   AND expires_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
