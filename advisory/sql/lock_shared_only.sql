-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the number 0; NULL if the lock is not to be had now.
-- Promise: one try, which waits for nobody and takes nothing on another process.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN pg_try_advisory_lock_shared($1::bigint) THEN 0::bigint END END AS token
