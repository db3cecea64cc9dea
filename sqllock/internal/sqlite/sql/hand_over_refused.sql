-- Parameters: ?1 namespace; ?2 name. For the grant that was to end: ?3 its nonce; ?4 its token; ?5 its minimum hold in microseconds. For the grant that was to begin: ?6 its nonce; ?7 the time, in microseconds, for which it would keep the lock unavailable.
-- Result: one row, or no row if the meta row is missing: verdict, which is the reason why the lock was not handed over ('contended' means that it could be handed over now); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock could be handed over.
-- Promise: reads only.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
)
SELECT CASE WHEN l.nonce = ?6 THEN 'contended'
            WHEN (l.nonce = ?3 AND l.token = ?4 AND l.expires_at > c.now) IS NOT TRUE THEN 'not held'
            WHEN m.epoch <> 'sqlite' THEN 'epoch'
            WHEN m.quarantined_until > c.now THEN 'quarantine'
            WHEN m.longest_ttl_us < ?7 THEN 'ttl'
            WHEN l.acquired_at + ?5 > c.now THEN 'min hold'
            ELSE 'contended' END AS verdict,
       coalesce(l.token, 0) AS token,
       coalesce(l.holder, '') AS holder,
       coalesce(l.note, '') AS note,
       CASE WHEN l.token > 0 THEN c.now - l.acquired_at ELSE 0 END AS since_us,
       max(coalesce(l.acquired_at + ?5, 0), m.quarantined_until, c.now) - c.now AS free_in_us
  FROM clock c
  JOIN rowlock_lease_meta m ON m.id = 1
  LEFT JOIN rowlock_lease l ON l.namespace = ?1 AND l.name = ?2
