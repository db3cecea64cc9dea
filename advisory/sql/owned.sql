-- Parameters: none.
-- Result: one row: the id of the server process that answers, and the keys that it holds, in decimal, separated by blanks. The key of a shared lock has the letter s at its end.
-- Promise: reads only. The keys are held by this session and no other.
SELECT pg_backend_pid() AS pid,
       coalesce((SELECT string_agg(((l.classid::bigint << 32) | l.objid::bigint)::text
                                   || CASE l.mode WHEN 'ShareLock' THEN 's' ELSE '' END, ' ')
                   FROM pg_locks l
                  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
                    AND l.pid = pg_backend_pid()), '') AS owned
