-- Parameters: none.
-- Result: no rows; one row changed if the server is not the one that granted last.
-- Promise: after a change of system identifier or timeline, nothing is granted for one longest TTL. A restart alone delays nothing. The quarantine is at most 14 days, whatever the row says: that is the longest TTL plus the longest hand-over delay that the options permit.
WITH present AS MATERIALIZED (
    SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS server,
           encode(timestamptz_send(pg_postmaster_start_time()), 'hex') AS started,
           set_config('lock_timeout', '1s', true)
      FROM pg_control_system()
)
UPDATE rowlock_lease_meta m
   SET epoch = p.server || '/' || p.started,
       quarantined_until = CASE WHEN m.epoch = '' OR left(m.epoch, -17) = p.server THEN m.quarantined_until
           ELSE greatest(m.quarantined_until, clock_timestamp() + least(m.longest_ttl_us, 1209600000000)::float8 * interval '1 microsecond') END
  FROM present p
 WHERE m.id = 1
   AND m.epoch <> p.server || '/' || p.started
