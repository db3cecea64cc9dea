-- Parameters: ?1 namespace; ?2 is 1 to select the marks of every namespace, and 0 to select those of ?1.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: reads only.
SELECT f.namespace, f.resource, f.token, f.domain, f.era,
       CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - f.sealed_at AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = ?1 OR ?2 = 1
 ORDER BY f.namespace, f.resource
