-- Parameters: ?1 namespace, ?2 name, ?3 nonce, ?4 token (0: any of that nonce), ?5 minimum hold in microseconds.
-- Result: one row if this grant was ended, else none: the waiter that the lock is kept for, or NULL.
-- Promise: ends this grant only; the row stays. For 50 ms the lock is kept for the waiter that has waited longest of those seen in the last 3 s, unless the minimum hold is not over. Who need not wait for either finds it open whatever the clock says: held_until is 0 then; and a clock that was set back makes no minimum hold longer.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = min(expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000),
       reserved_for = CASE WHEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?5 <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 THEN
           (SELECT w.id FROM rowlock_lease_waiter w WHERE w.namespace = ?1 AND w.name = ?2 AND w.seen_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - 3000000 ORDER BY w.since, w.id LIMIT 1) END,
       held_until = CASE WHEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?5 > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 THEN min(acquired_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000) + ?5
           ELSE coalesce((SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + 50000 FROM rowlock_lease_waiter w WHERE w.namespace = ?1 AND w.name = ?2 AND w.seen_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - 3000000 LIMIT 1), 0) END
 WHERE namespace = ?1 AND name = ?2
   AND nonce = ?3 AND ?4 IN (0, token)
RETURNING reserved_for
