-- Parameters: $1 key.
-- Result: one row: 1 if the session had the lock, else 0.
-- Promise: one lock needs one unlock.
SELECT CASE WHEN pg_advisory_unlock($1::bigint) THEN 1 ELSE 0 END
