-- Parameters: namespace, resource, nonce, domain; namespace, resource and domain are in base64.
-- Result: none; ignore the number of affected rows, because it depends on a flag of the connection.
-- Promise: waits for every transaction that has checked the mark, and then locks it. If the mark is of the same domain, the statement gives it a larger token, which is at least the microseconds since 1970. The server executes assignments from left to right. The other assignments compare the old domain with the new domain, so domain is assigned last.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (FROM_BASE64(?), FROM_BASE64(?), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), ?, FROM_BASE64(?), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       token = IF(domain IN (x'', VALUES(domain)), GREATEST(token + 1, VALUES(token)), token),
       nonce = IF(domain IN (x'', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(domain IN (x'', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(domain = x'', VALUES(domain), domain)
