-- Parameters: in this order: the nonce of the grant that was to begin; nonce and token of the grant that was to end; the longest time for which the new grant could have kept the lock unavailable, in microseconds; the minimum hold of the grant that was to end, in microseconds; namespace; name. Names are in base64.
-- Result: one row, or no row if the meta row is missing: verdict, which is the reason why the lock was not handed over ('contended' means that it could be handed over now); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock could be handed over.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN s.begun THEN 'contended'
            WHEN s.ours IS NOT TRUE THEN 'not held'
            WHEN s.autocommit = 0 THEN 'no autocommit'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.quarantine_us > 0 THEN 'quarantine'
            WHEN NOT s.ttl_known THEN 'ttl'
            WHEN s.min_hold_us > 0 THEN 'min hold'
            ELSE 'contended' END AS verdict,
       COALESCE(s.token, 0) AS token,
       COALESCE(s.holder, x'') AS holder,
       COALESCE(s.note, x'') AS note,
       IF(s.token > 0, s.since_us, 0) AS since_us,
       GREATEST(COALESCE(s.min_hold_us, 0), s.quarantine_us, 0) AS free_in_us
  FROM (SELECT @@autocommit AS autocommit,
               l.nonce <=> ? AS begun,
               l.nonce = ? AND l.token = ? AND l.expires_at > UTC_TIMESTAMP(6) AS ours,
               m.epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */ AS same_epoch,
               m.longest_ttl_us >= ? AS ttl_known,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), m.quarantined_until) AS quarantine_us,
               TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.acquired_at + INTERVAL ? MICROSECOND) AS min_hold_us,
               l.token, CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
               TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) AS since_us
          FROM rowlock_lease_meta AS m
          LEFT JOIN rowlock_lease AS l ON l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
         WHERE m.id = 1) AS s
