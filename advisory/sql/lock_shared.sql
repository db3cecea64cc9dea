-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the number 0, or NULL if the lock is held exclusively, if a writer waits in the server's queue, or if a writer has reserved the key.
-- Promise: makes one attempt without waiting. Locks nothing on another server process.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN pg_try_advisory_lock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) THEN
                 CASE WHEN pg_advisory_unlock_shared(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) THEN
                      CASE WHEN pg_try_advisory_lock_shared($1::bigint) THEN 0::bigint END END END END AS token
