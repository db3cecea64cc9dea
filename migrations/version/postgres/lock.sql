-- Parameters: $1 key.
-- Result: one row: 1 if the session has the lock now, else 0.
-- Promise: does not wait. A statement that waits in the server holds a snapshot, and would block CREATE INDEX CONCURRENTLY.
SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN 1 ELSE 0 END
