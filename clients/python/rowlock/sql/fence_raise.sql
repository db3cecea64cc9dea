-- Parameters: $1 namespace, $2 resource, $3 token, $4 nonce, $5 domain.
-- Result: none.
-- Promise: waits for every transaction that has checked the mark, and then locks it. Raises the mark if its token is smaller than the new token and of the same domain.
WITH turn AS MATERIALIZED (
    -- While a transaction has this advisory lock or waits for it, every later check fails: see check.sql.
    SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8)))
)
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
SELECT $1::text, $2::text, $3::bigint, $4::text::uuid, $5::text, clock_timestamp()
  FROM turn
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.token < excluded.token AND f.domain IN ('', excluded.domain)
