-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and the number 0, or NULL if the lock is held exclusively, if a writer waits in the server's queue, or if a writer has reserved the key.
-- Promise: makes one attempt without waiting. If another server process answers, locks nothing.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN pg_try_advisory_lock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) THEN
                 CASE WHEN pg_advisory_unlock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) THEN
                      CASE WHEN pg_try_advisory_lock_shared($1::bigint) THEN 0::bigint END END END END AS token
