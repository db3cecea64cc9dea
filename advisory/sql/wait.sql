-- Parameters: $1 key, $2 the server process of the session.
-- Result: one row: the server process that answers, and the sequence's part of the token. Error 55P03 if the lock was not granted within half a second.
-- Promise: waits in the server's queue for half a second at most, because the statement keeps a snapshot: a longer wait would delay VACUUM and CREATE INDEX CONCURRENTLY. Ends before the server checks for deadlocks. Locks nothing on another server process. Takes the token while it holds the lock. The token is durable for any default of synchronous_commit.
SELECT pg_backend_pid() AS pid,
       CASE WHEN pg_backend_pid() = $2::int THEN
            CASE WHEN set_config('lock_timeout', '500ms', true) IS NOT NULL THEN
                 CASE WHEN pg_advisory_lock($1::bigint)::text IS NOT NULL THEN nextval('rowlock_lease_token'::regclass) END END END AS token,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable
