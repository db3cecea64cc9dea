-- Parameters: ?1 the time in microseconds for which a mark must not have been sealed; the last mark of the previous batch, as ?2 its namespace, ?3 its namespace again and ?4 its resource; ?5 the largest number of marks.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: reads only. The transaction has the file's write lock, so no other process can write.
SELECT f.namespace, f.resource, f.token, f.domain, f.era,
       CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - f.sealed_at AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.sealed_at <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?1
   AND f.nonce NOT IN (SELECT l.nonce FROM rowlock_lease AS l
                        WHERE l.nonce IS NOT NULL AND l.expires_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
   AND (f.namespace > ?2 OR f.namespace = ?3 AND f.resource > ?4)
 ORDER BY f.namespace, f.resource
 LIMIT ?5
