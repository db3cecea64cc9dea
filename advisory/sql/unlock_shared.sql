-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and whether it had the lock.
-- Promise: releases one hold of the lock by this session. If another server process answers, releases nothing.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN pg_advisory_unlock_shared($1::bigint) ELSE false END AS unlocked
