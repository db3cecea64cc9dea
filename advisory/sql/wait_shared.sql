-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the token's part from the sequence; error 55P03 if the lock was not to be had for half a second.
-- Promise: waits in the server's queue for half a second at most, because the statement keeps a snapshot meanwhile: so it holds up no vacuum and no CREATE INDEX CONCURRENTLY for longer, and gives up before the server looks for deadlocks; takes nothing on another process; the token is taken under the lock, and is durable whatever the session's default is.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN set_config('lock_timeout', '500ms', true) IS NOT NULL THEN
                 CASE WHEN pg_advisory_lock_shared($1::bigint)::text IS NOT NULL THEN nextval('rowlock_lease_token'::regclass) END END END AS token,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable
