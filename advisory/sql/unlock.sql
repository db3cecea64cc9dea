-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and whether it had the lock.
-- Promise: releases one hold of the lock by this session, and nothing on another server process.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN pg_advisory_unlock($1::bigint) ELSE false END AS unlocked
