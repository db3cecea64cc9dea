-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and whether this session has reserved the key.
-- Promise: reserves the key for a writer that waits. Until unreserve.sql or the end of the session, no statement of this package grants a new share of the key. Does not wait. If another server process answers, reserves nothing.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int
            THEN pg_try_advisory_lock(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) ELSE false END AS reserved
