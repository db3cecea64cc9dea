-- Parameters: the name of a schema.
-- Result: one row: 1 if the schema exists, else 0.
-- Promise: reads only.
SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?
