-- Parameters: ?1 namespace, ?2 name, ?3 the token that is to be ended, ?4 1 to end a lease that is alive, else 0.
-- Result: one row, 'released', if it was ended or opened, else none.
-- Promise: ends that one grant, or opens what it left closed, and raises the token so that its holder is fenced.
UPDATE rowlock_lease
   SET nonce = NULL,
       token = max(token + 1, (SELECT floor + 1 FROM rowlock_lease_meta WHERE id = 1), CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       expires_at = min(expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       held_until = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND (nonce IS NOT NULL OR held_until > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
   AND (nonce IS NULL OR expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 OR ?4 = 1)
RETURNING 'released'
