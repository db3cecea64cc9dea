-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 holder; ?5 note; ?6 TTL, ?7 minimum hold and ?8 hand-over delay, all three in microseconds; ?9 the id of the waiter that sends the request, or NULL.
-- Result: no row if the lock was not granted, else one row: token; the last recorded tick, or an empty text.
-- Promise: is one statement that needs no transaction around it. It takes the file's write lock even when it grants nothing, so look.sql runs before it.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
)
INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT ?1, ?2, max(m.floor + 1, c.now), ?3, ?4, ?5, c.now, c.now + ?6, c.now + max(?6 + ?8, ?7)
  FROM clock c
  JOIN rowlock_lease_meta m ON m.id = 1
 WHERE m.epoch = 'sqlite'
   AND m.quarantined_until <= c.now
   AND m.longest_ttl_us >= max(?6 + ?8, ?7)
    ON CONFLICT (namespace, name) DO UPDATE
   SET token = CASE WHEN l.nonce = excluded.nonce THEN l.token ELSE max(l.token + 1, excluded.token) END,
       nonce = excluded.nonce,
       holder = excluded.holder,
       note = excluded.note,
       acquired_at = CASE WHEN l.nonce = excluded.nonce THEN l.acquired_at ELSE excluded.acquired_at END,
       expires_at = excluded.expires_at,
       held_until = max(excluded.expires_at + ?8,
                        CASE WHEN l.nonce = excluded.nonce THEN l.acquired_at ELSE excluded.acquired_at END + ?7),
       reserved_for = NULL,
       readers = NULL,
       writer_until = NULL
 WHERE l.held_until <= excluded.acquired_at OR l.nonce = excluded.nonce
    OR l.nonce IS NULL AND l.reserved_for = ?9
RETURNING token, coalesce(done, '')
