-- Parameters: none. Result: one row: a name, and the TLS version of this session. The version is empty without TLS.
-- Promise: reads only.
SELECT 'ssl_version', coalesce((SELECT s.version FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid() AND s.ssl), '') AS value
