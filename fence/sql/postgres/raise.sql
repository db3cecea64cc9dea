-- Parameters: $1 namespace, $2 resource, $3 token, $4 nonce, $5 domain.
-- Result: none.
-- Promise: raises the mark if its token is smaller and of the same domain, and locks it in any case, after every transaction that has checked it has ended.
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
VALUES ($1::text, $2::text, $3::bigint, $4::text::uuid, $5::text, clock_timestamp())
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.token < excluded.token AND f.domain IN ('', excluded.domain)
