-- Parameters: ?1 namespace; ?2 name; ?3 the token of the grant to end; ?4 is 1 to end the grant even if its lease has not expired, else 0.
-- Result: no row if the lock has no row, else one row: verdict 'leased', 'not held' or 'again'; token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; the number of shares.
-- Promise: reads only.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           50000 AS reservation
)
SELECT CASE WHEN l.token <> ?3 THEN 'not held'
            WHEN l.nonce IS NOT NULL AND l.expires_at > c.now AND ?4 = 0 THEN 'leased'
            WHEN l.nonce IS NOT NULL OR l.held_until > c.now + CASE WHEN l.reserved_for IS NULL THEN 0 ELSE c.reservation END THEN 'again'
            ELSE 'not held' END AS verdict,
       l.token, l.holder, l.note,
       c.now - l.acquired_at AS since_us,
       max(l.held_until, c.now) - c.now AS free_in_us,
       (SELECT count(*) FROM json_each(l.readers) e WHERE e.value > c.now) AS readers
  FROM clock c, rowlock_lease l
 WHERE l.namespace = ?1 AND l.name = ?2
