-- Parameters: none.
-- Result: rows of a name and a value: the settings of this session, and the type of the server.
-- Promise: reads only.
SELECT name, setting AS value
  FROM pg_settings
 WHERE name IN ('server_version', 'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_read_only')
UNION ALL
SELECT 'standby', pg_is_in_recovery()::text
UNION ALL
SELECT 'pid', pg_backend_pid()::text
