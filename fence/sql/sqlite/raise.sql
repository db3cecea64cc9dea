-- Parameters: ?1 namespace, ?2 resource, ?3 token, ?4 nonce, ?5 domain.
-- Result: none.
-- Promise: raises the mark if its token is smaller than the new token and of the same domain.
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
VALUES (?1, ?2, ?3, ?4, ?5, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.token < excluded.token AND f.domain IN ('', excluded.domain)
