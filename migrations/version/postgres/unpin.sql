-- Parameters: $1 the search_path that pin.sql has returned. Result: one row, which the caller ignores. Promise:
-- restores the search_path of the session.
SELECT pg_catalog.set_config('search_path', $1::text, false)
