-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the number 0, or NULL if the lock is held.
-- Promise: makes one attempt without waiting. Locks nothing on another server process.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN pg_try_advisory_lock($1::bigint) THEN 0::bigint END END AS token
