-- Parameters: none. Result: one row for each schema on the search_path in which other roles may create objects,
-- in the order of the search_path: the quoted name of the schema, whether the schema comes before pg_catalog,
-- and the quoted names of these roles, or PUBLIC. Promise: reads only. Other roles are all roles except superusers,
-- this role, and the roles that have the privileges of the schema's owner.
WITH path AS MATERIALIZED (
    SELECT p.schema, p.place
      FROM pg_catalog.unnest(pg_catalog.current_schemas(true)) WITH ORDINALITY p(schema, place)
), others AS (
    SELECT p.place, n.nspname,
           CASE WHEN pg_catalog.has_schema_privilege('public'::name, n.oid, 'CREATE') THEN 'PUBLIC'
                ELSE (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r.rolname::text), ', ' ORDER BY r.rolname)
                        FROM pg_catalog.pg_roles r
                       WHERE NOT r.rolsuper AND r.rolname <> current_user AND pg_catalog.left(r.rolname::text, 3) <> 'pg_'
                         AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
                         AND NOT pg_catalog.pg_has_role(r.oid, n.nspowner, 'USAGE')) END AS roles
      FROM path p
      JOIN pg_catalog.pg_namespace n ON n.nspname = p.schema
     WHERE n.oid <> pg_catalog.pg_my_temp_schema()
)
SELECT pg_catalog.quote_ident(o.nspname::text) AS schema,
       o.place < (SELECT c.place FROM path c WHERE c.schema = 'pg_catalog') AS before_catalog,
       o.roles
  FROM others o
 WHERE o.roles IS NOT NULL
 ORDER BY o.place
