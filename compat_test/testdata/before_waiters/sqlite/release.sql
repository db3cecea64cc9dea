-- Parameters: ?1 namespace, ?2 name, ?3 nonce, ?4 token (0: any of that nonce), ?5 minimum hold in microseconds.
-- Result: one row, 'released', if this grant was ended, else none.
-- Promise: ends this grant only; the row stays.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = min(expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       held_until = max(CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, acquired_at + ?5)
 WHERE namespace = ?1 AND name = ?2
   AND nonce = ?3 AND ?4 IN (0, token)
RETURNING 'released'
