-- Parameters: ?1 namespace; ?2 name; ?3 nonce of the share; ?4 token of the epoch (0 means any epoch that has a share of that nonce).
-- Result: one row if this share was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends only this share. Expired shares are dropped. The end of the last share frees the lock as release.sql does. A waiter for an exclusive grant claims the lock with reserve_for_writer.sql. While its claim lasts, the lock is reserved for no other waiter.
WITH clock AS NOT MATERIALIZED (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation, 3000000 AS dead_after
)
UPDATE rowlock_lease
   SET (nonce, readers, expires_at, reserved_for, held_until) = (
           SELECT CASE WHEN o.until IS NOT NULL THEN nonce END,
                  CASE WHEN o.until IS NOT NULL THEN o.readers END,
                  coalesce(o.until, min(expires_at, o.now)),
                  CASE WHEN o.until IS NOT NULL THEN reserved_for ELSE n.id END,
                  CASE WHEN o.until IS NOT NULL THEN o.until
                       WHEN n.id IS NOT NULL THEN o.now + o.reservation
                       ELSE 0 END
             FROM (SELECT c.now, c.reservation, c.dead_after, max(e.value) AS until,
                          json_group_object(e.key, e.value) FILTER (WHERE e.key IS NOT NULL) AS readers
                     FROM clock c
                     LEFT JOIN json_each(rowlock_lease.readers) e ON e.key <> ?3 AND e.value > c.now) o
             LEFT JOIN rowlock_lease_waiter n
               ON n.namespace = ?1 AND n.name = ?2 AND n.seen_at > o.now - o.dead_after
              AND o.until IS NULL AND (coalesce(writer_until, 0) <= o.now OR n.id = reserved_for)
            ORDER BY n.since, n.id
            LIMIT 1)
 WHERE namespace = ?1 AND name = ?2
   AND ?4 IN (0, token) AND json_type(readers, '$."' || ?3 || '"') IS NOT NULL
RETURNING CASE WHEN nonce IS NULL THEN reserved_for END
