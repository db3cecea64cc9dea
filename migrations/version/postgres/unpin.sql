-- Parameters: $1 the search_path that stood before pin.sql.
-- Result: one row, to be ignored.
-- Promise: the session looks for names where it did before.
SELECT pg_catalog.set_config('search_path', $1::text, false)
