-- Parameters: ?1 namespace; ?2 name; ?3 the token of the grant to end; ?4 is 1 to end the grant even if its lease has not expired, else 0.
-- Result: one row if the grant, its reservation or its minimum hold was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends the grant with this token, all shares if the lock is shared, or the minimum hold that remains from the grant. It raises the token, so that the holder is fenced. It ends a reservation only if more than 50 ms of the reservation remain, which happens if the clock was set back. It reserves the lock for a waiter as release.sql does.
WITH clock AS NOT MATERIALIZED (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation, 3000000 AS dead_after
)
UPDATE rowlock_lease
   SET nonce = NULL,
       readers = NULL,
       writer_until = NULL,
       (token, expires_at, reserved_for, held_until) = (
           SELECT max(token + 1, (SELECT floor + 1 FROM rowlock_lease_meta WHERE id = 1), c.now),
                  min(expires_at, c.now),
                  n.id,
                  CASE WHEN n.id IS NOT NULL THEN c.now + c.reservation ELSE 0 END
             FROM clock c
             LEFT JOIN rowlock_lease_waiter n ON n.namespace = ?1 AND n.name = ?2 AND n.seen_at > c.now - c.dead_after
            ORDER BY n.since, n.id
            LIMIT 1)
 WHERE namespace = ?1 AND name = ?2 AND token = ?3
   AND (nonce IS NOT NULL OR held_until > (SELECT now + CASE WHEN reserved_for IS NULL THEN 0 ELSE reservation END FROM clock))
   AND (nonce IS NULL OR expires_at <= (SELECT now FROM clock) OR ?4 = 1)
RETURNING reserved_for
