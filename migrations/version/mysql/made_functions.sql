-- Parameters: the schema, or an empty text for the connection's current database; the lease table.
-- Result: one row: 1 if the view of the functions exists, else 0.
-- Promise: reads only.
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = CONCAT(?, '_locks')
