-- Parameters: none.
-- Result: one row of a name and a value: the version of TLS of this session; empty without TLS.
-- Promise: reads only.
SELECT 'ssl_version', coalesce((SELECT s.version FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid() AND s.ssl), '') AS value
