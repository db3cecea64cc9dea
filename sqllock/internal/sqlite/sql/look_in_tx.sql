-- Parameters: ?1 namespace; ?2 name.
-- Result: one row, or no row if the meta row is missing: verdict, which is the reason why the lock cannot be taken ('contended' means that it looks free); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; the number of shares.
-- Promise: reads only, so that the holder of a lease can still renew the lease.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
)
SELECT CASE WHEN l.held_until > c.now THEN
                 CASE WHEN l.nonce IS NULL AND l.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN l.nonce IS NULL THEN 'min hold'
                      WHEN l.expires_at > c.now THEN 'leased'
                      ELSE 'handover' END
            WHEN m.epoch NOT IN ('', 'sqlite') OR m.quarantined_until > c.now THEN 'quarantine'
            ELSE 'contended' END AS verdict,
       coalesce(l.token, 0) AS token,
       coalesce(l.holder, '') AS holder,
       coalesce(l.note, '') AS note,
       CASE WHEN l.token > 0 THEN c.now - l.acquired_at ELSE 0 END AS since_us,
       max(coalesce(l.held_until, 0), m.quarantined_until, c.now) - c.now AS free_in_us,
       (SELECT count(*) FROM json_each(l.readers) e WHERE e.value > c.now) AS readers
  FROM clock c
  JOIN rowlock_lease_meta m ON m.id = 1
  LEFT JOIN rowlock_lease l ON l.namespace = ?1 AND l.name = ?2
