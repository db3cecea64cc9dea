-- Parameters: ?1 namespace, ?2 resource, ?3 nonce, ?4 domain.
-- Result: none.
-- Promise: if the mark is of the same domain, gives it a larger token, which is at least the microseconds since 1970.
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
VALUES (?1, ?2, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, ?3, ?4,
        CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = max(f.token + 1, excluded.token), nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.domain IN ('', excluded.domain)
