-- Parameters: $1 namespace, $2 resource.
-- Result: token and era (the number of resets) of the mark, or no row if there is none.
-- Promise: no other transaction changes the mark until this transaction ends, and every transaction that has checked the mark has ended.
WITH turn AS MATERIALIZED (
    -- While a transaction has this advisory lock or waits for it, every later check fails: see check.sql.
    SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
)
SELECT f.token, f.era
  FROM turn, rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   FOR UPDATE OF f
