-- Parameters: ?1 namespace; ?2 name; ?3 nonce of the share; ?4 holder; ?5 note; ?6 TTL in microseconds; ?7 the id of the waiter that sends the request, or NULL.
-- Result: no row if the share was not granted, else one row: token of the epoch; the last recorded tick, or an empty text; the id of the waiter that has waited longest, or NULL.
-- Promise: is one statement that needs no transaction around it. The first share begins an epoch with a new token, and later shares join it. Expired shares are dropped. It takes the file's write lock even when it grants nothing, so look_shared.sql runs before it.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           3000000 AS dead_after
), others AS (
    SELECT json_group_object(e.key, e.value) AS readers, max(e.value) AS until
      FROM clock c, rowlock_lease l, json_each(l.readers) e
     WHERE l.namespace = ?1 AND l.name = ?2 AND e.key <> ?3 AND e.value > c.now
), epoch AS (
    SELECT CASE WHEN l.readers IS NOT NULL AND l.held_until > c.now THEN l.token
                ELSE max(coalesce(l.token, 0) + 1, m.floor + 1, c.now) END AS token,
           CASE WHEN l.readers IS NOT NULL AND l.held_until > c.now THEN l.acquired_at ELSE c.now END AS acquired_at,
           CASE WHEN l.writer_until > c.now THEN l.writer_until END AS writer_until,
           CASE WHEN l.writer_until > c.now THEN l.reserved_for END AS reserved_for
      FROM clock c
      JOIN rowlock_lease_meta m ON m.id = 1
      LEFT JOIN rowlock_lease l ON l.namespace = ?1 AND l.name = ?2
     WHERE m.epoch = 'sqlite'
       AND m.quarantined_until <= c.now
       AND m.longest_ttl_us >= ?6
       AND (l.held_until > c.now AND json_type(l.readers, '$."' || ?3 || '"') IS NOT NULL
            OR coalesce(l.writer_until, 0) <= c.now
               AND (coalesce(l.held_until, 0) <= c.now OR l.readers IS NOT NULL OR l.nonce IS NULL AND l.reserved_for = ?7))
)
INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until, reserved_for, readers, writer_until)
SELECT ?1, ?2, e.token,
       '00000000-0000-0000-' || substr(printf('%016x', e.token), 1, 4) || '-' || substr(printf('%016x', e.token), 5),
       ?4, ?5, e.acquired_at, max(coalesce(o.until, 0), c.now + ?6), max(coalesce(o.until, 0), c.now + ?6), e.reserved_for,
       json_set(o.readers, '$."' || ?3 || '"', c.now + ?6), e.writer_until
  FROM clock c, others o, epoch e
 WHERE true
    ON CONFLICT (namespace, name) DO UPDATE
   SET token = excluded.token,
       nonce = excluded.nonce,
       holder = excluded.holder,
       note = excluded.note,
       acquired_at = excluded.acquired_at,
       expires_at = excluded.expires_at,
       held_until = excluded.held_until,
       reserved_for = excluded.reserved_for,
       readers = excluded.readers,
       writer_until = excluded.writer_until
RETURNING token, coalesce(done, ''),
          (SELECT w.id
             FROM rowlock_lease_waiter w, clock c
            WHERE w.namespace = ?1 AND w.name = ?2 AND w.id IS NOT ?7 AND w.seen_at > c.now - c.dead_after
            ORDER BY w.since, w.id
            LIMIT 1)
