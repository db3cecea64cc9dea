-- Parameters: namespace, resource, both in base64, nonce, domain in base64.
-- Result: none; the number of rows means nothing, because it depends on a flag of the connection.
-- Promise: gives the mark a token larger than before, and no smaller than the microseconds since 1970, if it is of the same domain, and locks it in any case, after every transaction that has checked it has ended. Assignments run from left to right: domain, which they compare, is the last.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (FROM_BASE64(?), FROM_BASE64(?), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), ?, FROM_BASE64(?), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       token = IF(domain IN (x'', VALUES(domain)), GREATEST(token + 1, VALUES(token)), token),
       nonce = IF(domain IN (x'', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(domain IN (x'', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(domain = x'', VALUES(domain), domain)
