-- Parameters: for how many microseconds a mark must not have been sealed; namespace, namespace and resource of the last mark seen, in hexadecimal digits; how many at most.
-- Result: one row a mark, ordered by namespace and resource: namespace, resource, token, domain, era, microseconds since it was sealed or reset; names and domain in hexadecimal digits.
-- Promise: locks what it answers to the end of the transaction and skips what a transaction has checked. The lock table is read without a lock, so that no renewal waits.
SELECT LOWER(HEX(f.namespace)), LOWER(HEX(f.resource)), f.token, LOWER(HEX(f.domain)), f.era,
       TIMESTAMPDIFF(MICROSECOND, f.sealed_at, UTC_TIMESTAMP(6)) AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.sealed_at <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
   AND f.nonce NOT IN (SELECT l.nonce FROM rowlock_lease AS l WHERE l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6))
   AND (f.namespace > UNHEX(?) OR f.namespace = UNHEX(?) AND f.resource > UNHEX(?))
 ORDER BY f.namespace, f.resource
 LIMIT ?
   FOR UPDATE SKIP LOCKED
