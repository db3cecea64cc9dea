-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 the time, in microseconds, for which the grant would keep the lock unavailable; ?5 the id of the waiter that sends the request, or NULL.
-- Result: one row, or no row if the meta row is missing: verdict, which is the reason why the lock is not granted ('contended' means that it looks free); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; how many waiters have waited longer; the number of shares.
-- Promise: reads only, so it waits for no writer. It uses the machine's clock, in milliseconds, which does not advance within a statement.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           3000000 AS dead_after
)
SELECT CASE WHEN m.epoch <> 'sqlite' THEN 'epoch'
            WHEN l.held_until > c.now AND l.nonce IS NOT ?3 AND (l.nonce IS NOT NULL OR l.reserved_for IS NULL OR l.reserved_for IS NOT ?5) THEN
                 CASE WHEN l.nonce IS NULL AND l.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN l.nonce IS NULL THEN 'min hold'
                      WHEN l.expires_at > c.now THEN 'leased'
                      ELSE 'handover' END
            WHEN m.quarantined_until > c.now THEN 'quarantine'
            WHEN m.longest_ttl_us < ?4 THEN 'ttl'
            ELSE 'contended' END AS verdict,
       coalesce(l.token, 0) AS token,
       coalesce(l.holder, '') AS holder,
       coalesce(l.note, '') AS note,
       CASE WHEN l.token > 0 THEN c.now - l.acquired_at ELSE 0 END AS since_us,
       max(coalesce(l.held_until, 0), m.quarantined_until, c.now) - c.now AS free_in_us,
       CASE WHEN l.held_until > c.now THEN (
            SELECT count(*)
              FROM rowlock_lease_waiter w
             WHERE w.namespace = ?1 AND w.name = ?2 AND w.id IS NOT ?5 AND w.seen_at > c.now - c.dead_after
               AND w.since <= coalesce((SELECT me.since FROM rowlock_lease_waiter me WHERE me.namespace = ?1 AND me.name = ?2 AND me.id = ?5), c.now))
            ELSE 0 END AS ahead,
       (SELECT count(*) FROM json_each(l.readers) e WHERE e.value > c.now) AS readers
  FROM clock c
  JOIN rowlock_lease_meta m ON m.id = 1
  LEFT JOIN rowlock_lease l ON l.namespace = ?1 AND l.name = ?2
