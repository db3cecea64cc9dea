-- Parameters: $1 key, $2 the id of the only server process that may be terminated, or NULL.
-- Result: one row: how many sessions got the signal to terminate.
-- Promise: terminates the sessions that hold the key at this moment, or only the session of $2 if it holds the key. This also releases all other locks of these sessions. Terminates no other session.
SELECT count(*) FILTER (WHERE pg_terminate_backend(h.pid)) AS ended
  FROM (SELECT DISTINCT l.pid
          FROM pg_locks l
         WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
           AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
           AND (l.classid::bigint << 32) | l.objid::bigint = $1::bigint
           AND ($2::int IS NULL OR l.pid = $2::int)) h
