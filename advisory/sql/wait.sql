-- Parameters: $1 key, $2 the id of the session's server process.
-- Result: one row: the id of the server process that answers, and the sequence's part of the token. Error 55P03 if the lock was not granted within half a second.
-- Promise: waits in the server's queue for half a second at most, because the statement keeps a snapshot: a longer wait would delay VACUUM and CREATE INDEX CONCURRENTLY. Ends before the server checks for deadlocks. If another server process answers, locks nothing. Takes the token while it holds the lock. The token is durable, whatever the server's setting of synchronous_commit is.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN set_config('lock_timeout', '500ms', true) IS NOT NULL THEN
                 CASE WHEN pg_advisory_lock($1::bigint)::text IS NOT NULL THEN nextval('rowlock_lease_token'::regclass) END END END AS token,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable
