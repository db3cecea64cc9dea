-- Parameters: none. Result: one row for each setting of this session, and one for the type of the server:
-- a name and a value. Promise: reads only.
SELECT name, setting AS value
  FROM pg_settings
 WHERE name IN ('server_version', 'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_read_only')
UNION ALL
SELECT 'standby', pg_is_in_recovery()::text
UNION ALL
SELECT 'pid', pg_backend_pid()::text
