-- Parameters: none.
-- Result: one row: what the server says it is.
-- Promise: reads only.
SELECT pg_catalog.version()
