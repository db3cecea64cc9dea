-- Parameters: $1 namespace; $2 name.
-- Result: one row, or no row if the meta row is missing: verdict ('locked'; 'missing' if the lock has no row; 'snapshot' at an isolation level whose snapshot may be older than the writes of the last holder; 'epoch' if the server or its timeline has changed; or the reason why the lock is not free); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; the number of shares.
-- Promise: locks the row until the end of the transaction, if the lock is free. It waits for no other transaction. It does not lock the row of a lease that has not ended, so the holder can still renew the lease.
WITH seen AS MATERIALIZED (
    -- After a restart alone the transaction need not adopt the epoch, because no quarantine follows: see adopt_epoch.sql.
    SELECT m.epoch = '' OR rowlock_lease_same_epoch(m.epoch)
           OR left(m.epoch, -17) = (SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()) AS same_epoch,
           m.quarantined_until,
           l.token, l.nonce, l.holder, l.note, l.acquired_at, l.expires_at, l.held_until, l.reserved_for, l.readers,
           clock_timestamp() AS now
      FROM rowlock_lease_meta m
      LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE m.id = 1
), locked AS MATERIALIZED (
    SELECT true AS done
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.quarantined_until <= s.now
       AND l.held_until <= clock_timestamp()
       AND current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
       FOR UPDATE OF l SKIP LOCKED
)
SELECT CASE WHEN EXISTS (SELECT FROM locked) THEN 'locked'
            WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN 'snapshot'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.held_until > s.now THEN
                 CASE WHEN s.reserved_for IS NOT NULL THEN 'reserved'
                      WHEN s.nonce IS NULL THEN 'min hold'
                      WHEN s.expires_at > s.now THEN 'leased'
                      ELSE 'handover' END
            WHEN s.quarantined_until > s.now THEN 'quarantine'
            WHEN s.token IS NULL THEN 'missing'
            ELSE 'contended' END AS verdict,
       coalesce(s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       CASE WHEN s.token > 0 THEN (extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       (extract(epoch FROM greatest(s.held_until, s.quarantined_until, s.now) - s.now)::float8 * 1e6::float8)::bigint AS free_in_us,
       CASE WHEN s.readers IS NOT NULL
            THEN (SELECT count(*) FROM jsonb_each(s.readers) r WHERE r.value::bigint > (extract(epoch FROM s.now)::float8 * 1e6::float8)::bigint) ELSE 0 END AS readers
  FROM seen s
