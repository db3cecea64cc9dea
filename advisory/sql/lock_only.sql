-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and the number 0, or NULL if the lock is held.
-- Promise: makes one attempt without waiting. If another server process answers, locks nothing.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN pg_try_advisory_lock($1::bigint) THEN 0::bigint END END AS token
