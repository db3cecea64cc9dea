-- Parameters: namespace, resource, both in base64, token, nonce, domain in base64.
-- Result: none; the number of rows means nothing, because it depends on a flag of the connection.
-- Promise: raises the mark if its token is smaller and of the same domain, and locks it in any case, after every transaction that has checked it has ended. Assignments run from left to right: token, which they compare, is the last, and domain, once the mark is to be raised, may be set before it.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (FROM_BASE64(?), FROM_BASE64(?), ?, ?, FROM_BASE64(?), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       nonce = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(VALUES(token) > token AND domain IN (x'', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(VALUES(token) > token AND domain = x'', VALUES(domain), domain),
       token = IF(VALUES(token) > token AND domain = VALUES(domain), VALUES(token), token)
