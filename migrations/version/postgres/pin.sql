-- Parameters: none.
-- Result: one row: the previous search_path.
-- Promise: until unpin.sql runs, the session resolves names only in pg_catalog and in the schema of the tables. If the tables do not exist, that is the schema in which they will be created. The statement itself uses the previous search_path only to find the tables.
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
