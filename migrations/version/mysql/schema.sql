-- Parameters: name of a schema.
-- Result: one row: 1 if it exists, else 0.
-- Promise: reads only.
SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?
