-- Parameters: for how many microseconds a mark must not have been sealed; namespace, namespace and resource of the last mark seen, in base64; how many at most.
-- Result: one row a mark, ordered by namespace and resource: namespace, resource, token, domain, era, microseconds since it was sealed or reset.
-- Promise: locks what it answers to the end of the transaction and skips what a transaction has checked. The lock table is read without a lock, so that no renewal waits. The two comments take the place of the session's sql_big_selects: MariaDB reads the first, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(sql_big_selects = 1) */
       f.namespace, f.resource, f.token, f.domain, f.era,
       TIMESTAMPDIFF(MICROSECOND, f.sealed_at, UTC_TIMESTAMP(6)) AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.sealed_at <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
   AND f.nonce NOT IN (SELECT l.nonce FROM rowlock_lease AS l WHERE l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6))
   AND (f.namespace > FROM_BASE64(?) OR f.namespace = FROM_BASE64(?) AND f.resource > FROM_BASE64(?))
 ORDER BY f.namespace, f.resource
 LIMIT ?
   FOR UPDATE SKIP LOCKED
