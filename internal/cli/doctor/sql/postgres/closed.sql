-- Parameters: the schema, or an empty text for the schemas on the search_path; the lease table. Result:
-- one row for each schema that contains the table and that this user may not use: the quoted name of the schema,
-- and the quoted name of this user. PostgreSQL skips such a schema of the search_path, as if the table were missing.
-- Promise: reads only. Reading pg_class and pg_namespace needs no privilege.
SELECT pg_catalog.quote_ident(n.nspname::text), pg_catalog.quote_ident(current_user::text)
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relname = $2::text::name
   AND NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
   AND CASE WHEN $1::text <> '' THEN n.nspname = $1::text::name
            ELSE EXISTS (SELECT FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('search_path'), ',')) p(schema)
                          WHERE pg_catalog.btrim(p.schema) IN (n.nspname::text, pg_catalog.quote_ident(n.nspname::text), '"' || n.nspname::text || '"')
                             OR n.nspname = current_user AND pg_catalog.btrim(p.schema) IN ('$user', '"$user"')) END
 ORDER BY 1
