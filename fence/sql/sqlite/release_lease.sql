-- Parameters: ?1 minimum hold in microseconds, ?2 namespace, ?3 name of the lock, ?4 nonce, ?5 token.
-- Result: none; one row changed if the lease was alive and is now released.
-- Promise: the commit ends this lease and no other lease. The row stays. No other process acquires the lock before the commit.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000,
       held_until = CASE WHEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?1 > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 THEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?1 ELSE 0 END
 WHERE namespace = ?2 AND name = ?3
   AND nonce = ?4 AND token = ?5
   AND expires_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
