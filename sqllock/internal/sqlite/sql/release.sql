-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 token (0 means any grant of that nonce); ?5 minimum hold in microseconds; ?6 the tick to record, or NULL.
-- Result: one row if this grant was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends only this grant, and keeps the row. A tick is recorded in the same step. If the minimum hold is over, the release reserves the lock for 50 ms for the waiter that has waited longest, among the waiters that have confirmed in the last 3 s that they wait. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation, 3000000 AS dead_after
)
UPDATE rowlock_lease
   SET nonce = NULL,
       (expires_at, reserved_for, held_until) = (
           SELECT min(expires_at, c.now),
                  CASE WHEN min(acquired_at, c.now) + ?5 <= c.now THEN n.id END,
                  CASE WHEN min(acquired_at, c.now) + ?5 > c.now THEN min(acquired_at, c.now) + ?5
                       WHEN n.id IS NOT NULL THEN c.now + c.reservation
                       ELSE 0 END
             FROM clock c
             LEFT JOIN rowlock_lease_waiter n ON n.namespace = ?1 AND n.name = ?2 AND n.seen_at > c.now - c.dead_after
            ORDER BY n.since, n.id
            LIMIT 1),
       done = coalesce(?6, done)
 WHERE namespace = ?1 AND name = ?2
   AND nonce = ?3 AND ?4 IN (0, token)
RETURNING reserved_for
