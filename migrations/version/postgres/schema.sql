-- Parameters: $1 the name of a schema.
-- Result: one row: 1 if the schema exists, else 0.
-- Promise: reads only.
SELECT count(*) FROM pg_namespace WHERE nspname = $1::text
