-- Parameters: $1 namespace, $2 resource, $3 nonce, $4 domain.
-- Result: none.
-- Promise: waits for every transaction that has checked the mark, and then locks it. If the mark is of the same domain, the statement gives it a larger token, which is at least the microseconds since 1970.
WITH turn AS MATERIALIZED (
    -- While a transaction has this advisory lock or waits for it, every later check fails: see check.sql.
    SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
)
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
SELECT $1::text, $2::text, (extract(epoch FROM clock_timestamp())::float8 * 1e6::float8)::bigint, $3::text::uuid, $4::text, clock_timestamp()
  FROM turn
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = greatest(f.token + 1, excluded.token), nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.domain IN ('', excluded.domain)
