-- Parameters: none.
-- Result: one row: 1 if the view of the functions exists, else 0.
-- Promise: finds the view in the same schema as a statement that names no schema.
SELECT count(*) FROM pg_class c WHERE c.oid = to_regclass('rowlock_lease_locks')::oid AND c.relkind = 'v'::"char"
