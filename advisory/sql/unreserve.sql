-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and whether it had reserved the key.
-- Promise: ends a reservation of this session, and nothing on another server process.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int
            THEN pg_advisory_unlock(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) ELSE false END AS unreserved
