-- Parameters: namespace, resource, token, nonce, domain; namespace, resource and domain are in base64.
-- Result: none; ignore the number of affected rows, because it depends on a flag of the connection.
-- Promise: waits for every transaction that has checked the mark, and then locks it. Raises the mark if its token is smaller than the new token and of the same domain. The server executes assignments from left to right. The other assignments compare the old token with the new token, so token is assigned last. The column domain is assigned before token: if the mark is raised, its domain then equals the new domain.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (FROM_BASE64(?), FROM_BASE64(?), ?, ?, FROM_BASE64(?), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       nonce = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(VALUES(token) > token AND domain = x'', VALUES(domain), domain),
       token = IF(VALUES(token) > token AND domain = VALUES(domain), VALUES(token), token)
