-- Parameters: none.
-- Result: one row: the server's version text, the id of the server process, whether the server is a standby, whether the session is read-only, the server's timeline (0 on a standby), whether the sequence of tokens exists, whether the role may use it, and the keep-alive settings that were changed.
-- Promise: changes only the session's TCP keep-alive, and only where the server would need more than about 30 s to notice a dead client. Needs no table.
SELECT pg_catalog.version() AS version,
       pg_backend_pid() AS pid,
       pg_is_in_recovery() AS standby,
       current_setting('transaction_read_only') = 'on' AS read_only,
       CASE WHEN pg_is_in_recovery() THEN 0
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END AS timeline,
       to_regclass('rowlock_lease_token') IS NOT NULL AS has_sequence,
       coalesce(has_sequence_privilege(to_regclass('rowlock_lease_token')::oid, 'USAGE, UPDATE'), false) AS may_use,
       pg_catalog.concat_ws(' ',
           CASE WHEN current_setting('tcp_keepalives_idle')::int NOT BETWEEN 1 AND 15
                THEN 'idle ' || set_config('tcp_keepalives_idle', '15', false) END,
           CASE WHEN current_setting('tcp_keepalives_interval')::int NOT BETWEEN 1 AND 5
                THEN 'interval ' || set_config('tcp_keepalives_interval', '5', false) END,
           CASE WHEN current_setting('tcp_keepalives_count')::int NOT BETWEEN 1 AND 3
                THEN 'count ' || set_config('tcp_keepalives_count', '3', false) END,
           CASE WHEN current_setting('tcp_user_timeout')::int NOT BETWEEN 1 AND 30000
                THEN 'timeout ' || set_config('tcp_user_timeout', '30000', false) END) AS keepalive
