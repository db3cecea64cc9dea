-- Parameters: none.
-- Result: no rows; changes one row if the column epoch identifies another server, another timeline or an earlier start of this server.
-- Promise: after a change of the system identifier or the timeline, no lock is granted for longest_ttl_us. A restart alone delays nothing. The quarantine lasts at most 14 days, even if longest_ttl_us is larger. The limit is safe, because the options permit no TTL and hand-over delay whose sum is more than 14 days.
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
