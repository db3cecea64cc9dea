-- Parameters: ?1 namespace; ?2 name; ?3 the token of the grant to end; ?4 is 1 to end the grant even if its lease has not expired, else 0.
-- Result: one row if the grant, its reservation or its minimum hold was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends the grant with this token, all shares if the lock is shared, or the minimum hold that remains from the grant. It raises the token, so that the holder is fenced. It ends a reservation only if more than 50 ms of the reservation remain, which happens if the clock was set back. It reserves the lock for a waiter as release.sql does.
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
       readers = NULL,
       writer_until = NULL,
       token = max(token + 1, (SELECT floor + 1 FROM rowlock_lease_meta WHERE id = 1), c.now),
       expires_at = min(expires_at, c.now),
       reserved_for = (SELECT id FROM next),
       held_until = CASE WHEN EXISTS (SELECT 1 FROM next) THEN c.now + c.reservation ELSE 0 END
  FROM clock c
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND (nonce IS NOT NULL OR held_until > c.now + CASE WHEN reserved_for IS NULL THEN 0 ELSE c.reservation END)
   AND (nonce IS NULL OR expires_at <= c.now OR ?4 = 1)
RETURNING reserved_for
