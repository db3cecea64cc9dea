-- Parameters: $1 the time in microseconds for which a mark must not have been sealed; the last mark of the previous batch, as $2 its namespace, $3 its namespace again and $4 its resource; $5 the largest number of marks.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: locks the returned marks until the transaction ends, and skips marks that a transaction has checked. It reads the lock table without locks, so that no renewal waits.
SELECT f.namespace, f.resource, f.token, f.domain, f.era,
       (extract(epoch FROM clock_timestamp() - f.sealed_at)::float8 * 1e6::float8)::bigint AS age_us
  FROM rowlock_lease_fence f
 WHERE f.sealed_at <= clock_timestamp() - $1::bigint::float8 * interval '1 microsecond'
   AND f.nonce NOT IN (SELECT l.nonce FROM rowlock_lease l WHERE l.nonce IS NOT NULL AND l.expires_at > clock_timestamp())
   AND (f.namespace > $2::text OR f.namespace = $3::text AND f.resource > $4::text)
 ORDER BY f.namespace, f.resource
 LIMIT $5::bigint
   FOR UPDATE OF f SKIP LOCKED
