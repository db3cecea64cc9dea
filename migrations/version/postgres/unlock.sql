-- Parameters: $1 key.
-- Result: one row: 1 if the session had the lock, else 0.
-- Promise: releases the lock once. A session that has acquired the lock twice must release it twice.
SELECT CASE WHEN pg_advisory_unlock($1::bigint) THEN 1 ELSE 0 END
