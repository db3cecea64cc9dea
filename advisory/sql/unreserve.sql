-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and whether it had reserved the key.
-- Promise: ends a reservation of this session. If another server process answers, changes nothing.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int
            THEN pg_advisory_unlock(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) ELSE false END AS unreserved
