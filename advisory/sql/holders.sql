-- Parameters: $1 key, or NULL for all keys of the database.
-- Result: one row: a JSON array with one object for each holder: key, shared, pid, user, application, client, age_us (of the session). A value that the role may not read is null.
-- Promise: reads only.
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
           'key', h.key, 'shared', h.shared, 'pid', h.pid, 'user', a.usename, 'application', a.application_name,
           'client', a.client_addr, 'age_us', (extract(epoch FROM clock_timestamp() - a.backend_start)::float8 * 1e6::float8)::bigint)
           ORDER BY h.key, h.pid), '[]')::text AS holders
  FROM (SELECT (l.classid::bigint << 32) | l.objid::bigint AS key, l.mode = 'ShareLock' AS shared, l.pid
          FROM pg_locks l
         WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
           AND ($1::bigint IS NULL OR (l.classid::bigint << 32) | l.objid::bigint = $1::bigint)) h
  LEFT JOIN pg_stat_activity a ON a.pid = h.pid
