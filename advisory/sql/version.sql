-- Parameters: none.
-- Result: one row: the server's version text.
-- Promise: reads only.
SELECT pg_catalog.version()
