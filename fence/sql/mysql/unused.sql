-- Parameters: the time in microseconds for which a mark must not have been sealed; the last mark of the previous batch, as its namespace, its namespace again and its resource, in base64; the largest number of marks.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: locks the returned marks until the transaction ends, and skips marks that a transaction has checked. It reads the lock table without locks, so that no renewal waits. The two comments override the session's sql_big_selects: MariaDB executes the first, MySQL the second.
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
