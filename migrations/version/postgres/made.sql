-- Parameters: none.
-- Result: one row: 1 if the lease table exists, else 0.
-- Promise: finds the table where an unqualified statement would.
SELECT count(*) FROM (SELECT to_regclass('rowlock_lease') AS oid) t WHERE t.oid IS NOT NULL
