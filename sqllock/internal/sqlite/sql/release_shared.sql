-- Parameters: ?1 namespace; ?2 name; ?3 nonce of the share; ?4 token of the epoch (0 means any epoch that has a share of that nonce).
-- Result: one row if this share was ended, else no row. The row contains the id of the waiter that the lock is now reserved for, or NULL.
-- Promise: ends only this share. Expired shares are dropped. The end of the last share frees the lock as release.sql does. A waiter for an exclusive grant claims the lock with reserve_for_writer.sql. While its claim lasts, the lock is reserved for no other waiter.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation, 3000000 AS dead_after
), others AS (
    SELECT json_group_object(e.key, e.value) AS readers, max(e.value) AS until
      FROM clock c, rowlock_lease l, json_each(l.readers) e
     WHERE l.namespace = ?1 AND l.name = ?2 AND e.key <> ?3 AND e.value > c.now
), next AS (
    SELECT w.id
      FROM clock c, rowlock_lease l, rowlock_lease_waiter w
     WHERE l.namespace = ?1 AND l.name = ?2
       AND w.namespace = ?1 AND w.name = ?2 AND w.seen_at > c.now - c.dead_after
       AND (coalesce(l.writer_until, 0) <= c.now OR w.id = l.reserved_for)
     ORDER BY w.since, w.id
     LIMIT 1
)
UPDATE rowlock_lease
   SET nonce = CASE WHEN o.until IS NOT NULL THEN nonce END,
       readers = CASE WHEN o.until IS NOT NULL THEN o.readers END,
       expires_at = coalesce(o.until, min(expires_at, c.now)),
       reserved_for = CASE WHEN o.until IS NOT NULL THEN reserved_for ELSE (SELECT id FROM next) END,
       held_until = CASE WHEN o.until IS NOT NULL THEN o.until
                         WHEN EXISTS (SELECT 1 FROM next) THEN c.now + c.reservation
                         ELSE 0 END
  FROM clock c, others o
 WHERE namespace = ?1 AND name = ?2
   AND ?4 IN (0, token) AND json_type(rowlock_lease.readers, '$."' || ?3 || '"') IS NOT NULL
RETURNING CASE WHEN nonce IS NULL THEN reserved_for END
