-- Parameters: ?1 namespace, ?2 name, ?3 the token that is to be ended, ?4 1 to end a lease that is alive, else 0.
-- Result: one row if it was ended or opened, else none: the waiter that the lock is kept for, or NULL.
-- Promise: ends that one grant, or opens what it left closed (a reservation only if the clock was set back, by which it would last), and raises the token so that its holder is fenced; keeps the lock for a waiter as release.sql does.
UPDATE rowlock_lease
   SET nonce = NULL,
       token = max(token + 1, (SELECT floor + 1 FROM rowlock_lease_meta WHERE id = 1), CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       expires_at = min(expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       reserved_for = (SELECT w.id FROM rowlock_lease_waiter w WHERE w.namespace = ?1 AND w.name = ?2 AND w.seen_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - 3000000 ORDER BY w.since, w.id LIMIT 1),
       held_until = coalesce((SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + 50000 FROM rowlock_lease_waiter w WHERE w.namespace = ?1 AND w.name = ?2 AND w.seen_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - 3000000 LIMIT 1), 0)
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND (nonce IS NOT NULL OR held_until > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + CASE WHEN reserved_for IS NULL THEN 0 ELSE 50000 END)
   AND (nonce IS NULL OR expires_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 OR ?4 = 1)
RETURNING reserved_for
