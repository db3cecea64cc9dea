-- Parameters: $1 key.
-- Result: one row: 1 if the session has the lock now, else 0.
-- Promise: does not wait. Waiting inside the server would hold a snapshot, and stall an index that is built concurrently.
SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN 1 ELSE 0 END
