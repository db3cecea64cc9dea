-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and the sequence's part of the token, or NULL if the lock is held. Error 55P03 if the lock was acquired but the sequence stayed locked for half a second.
-- Promise: makes one attempt without waiting for the lock. If another server process answers, locks nothing. Takes the token while it holds the lock. The token is durable, whatever the server's setting of synchronous_commit is.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN set_config('lock_timeout', '500ms', true) IS NOT NULL THEN
                 CASE WHEN pg_try_advisory_lock($1::bigint) THEN nextval('rowlock_lease_token'::regclass) END END END AS token,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable
