-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the token's part from the sequence; NULL if the lock is not to be had now; error 55P03 if it was and no number came for half a second, for the sequence is locked.
-- Promise: one try, which waits for nobody and takes nothing on another process; the token is taken under the lock, and is durable whatever the session's default is.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN set_config('lock_timeout', '500ms', true) IS NOT NULL THEN
                 CASE WHEN pg_try_advisory_lock_shared($1::bigint) THEN nextval('rowlock_lease_token'::regclass) END END END AS token,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable
