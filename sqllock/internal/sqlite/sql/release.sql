-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 token (0 means any grant of that nonce); ?5 minimum hold in microseconds; ?6 the tick to record, or NULL.
-- Result: one row if this grant was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends only this grant, and keeps the row. A tick is recorded in the same step. If the minimum hold is over, the release reserves the lock for 50 ms for the waiter that has waited longest, among the waiters that have confirmed in the last 3 s that they wait. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation, 3000000 AS dead_after
), next AS (
    SELECT w.id
      FROM rowlock_lease_waiter w, clock c
     WHERE w.namespace = ?1 AND w.name = ?2 AND w.seen_at > c.now - c.dead_after
     ORDER BY w.since, w.id
     LIMIT 1
)
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = min(expires_at, c.now),
       reserved_for = CASE WHEN min(acquired_at, c.now) + ?5 <= c.now THEN (SELECT id FROM next) END,
       held_until = CASE WHEN min(acquired_at, c.now) + ?5 > c.now THEN min(acquired_at, c.now) + ?5
                         WHEN EXISTS (SELECT 1 FROM next) THEN c.now + c.reservation
                         ELSE 0 END,
       done = coalesce(?6, done)
  FROM clock c
 WHERE namespace = ?1 AND name = ?2
   AND nonce = ?3 AND ?4 IN (0, token)
RETURNING reserved_for
