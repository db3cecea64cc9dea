-- Parameters: none.
-- Result: one row: the search_path that stood before.
-- Promise: until unpin.sql, the session looks for names in pg_catalog and in the schema of the tables, or in the one where they will be created, and in no other. The statement itself finds nothing by the path but the tables.
WITH present AS MATERIALIZED (
    SELECT pg_catalog.current_setting('search_path') AS path,
           coalesce((SELECT n.nspname
                       FROM pg_catalog.pg_class c
                       JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
                      WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('rowlock_lease')::pg_catalog.oid),
                    pg_catalog.current_schema()) AS schema
)
SELECT p.path
  FROM present p, LATERAL pg_catalog.set_config('search_path', coalesce(pg_catalog.quote_ident(p.schema::pg_catalog.text), ''), false)
