-- Parameters: namespace, resource, both in hexadecimal digits, token, nonce.
-- Result: none; the number of rows means nothing, because it depends on a flag of the connection.
-- Promise: raises the mark if its token is smaller, and locks it in any case, after every transaction that has checked it has ended. Assignments run from left to right, so token is the last.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, sealed_at)
VALUES (UNHEX(?), UNHEX(?), ?, ?, UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       nonce = IF(VALUES(token) > token, VALUES(nonce), nonce),
       sealed_at = IF(VALUES(token) > token, VALUES(sealed_at), sealed_at),
       token = GREATEST(token, VALUES(token))
