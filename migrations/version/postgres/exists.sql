-- Parameters: none.
-- Result: one row: 1 if the version table exists, else 0.
-- Promise: finds the table in the same schema as a statement that names no schema.
SELECT count(*) FROM (SELECT to_regclass('rowlock_lease_version') AS oid) t WHERE t.oid IS NOT NULL
