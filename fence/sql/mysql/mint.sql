-- Parameters: namespace, resource, both in hexadecimal digits, nonce, domain in hexadecimal digits.
-- Result: none; the number of rows means nothing, because it depends on a flag of the connection.
-- Promise: gives the mark a token larger than before, and no smaller than the microseconds since 1970, if it is of the same domain, and locks it in any case, after every transaction that has checked it has ended. Assignments run from left to right: domain, which they compare, is the last.
INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
VALUES (UNHEX(?), UNHEX(?), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), ?, UNHEX(?), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       token = IF(domain IN ('', VALUES(domain)), GREATEST(token + 1, VALUES(token)), token),
       nonce = IF(domain IN ('', VALUES(domain)), VALUES(nonce), nonce),
       sealed_at = IF(domain IN ('', VALUES(domain)), VALUES(sealed_at), sealed_at),
       domain = IF(domain = '', VALUES(domain), domain)
