-- Parameters: ?1 namespace; ?2 name; ?3 token; ?4 nonce; ?5 token domain.
-- Result: one row with the token if the fence mark now belongs to this grant, else no row.
-- Promise: raises the fence mark of the lock's own name, if the mark's token is smaller and of the same domain, as raise.sql of package fence does. The caller holds the file's write lock.
INSERT INTO rowlock_lease_fence AS f (namespace, resource, token, nonce, domain, sealed_at)
VALUES (?1, ?2, ?3, ?4, ?5, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    ON CONFLICT (namespace, resource) DO UPDATE
   SET token = excluded.token, nonce = excluded.nonce, domain = excluded.domain, sealed_at = excluded.sealed_at
 WHERE f.domain IN ('', excluded.domain)
   AND (f.token < excluded.token OR f.token = excluded.token AND f.nonce = excluded.nonce)
RETURNING token
