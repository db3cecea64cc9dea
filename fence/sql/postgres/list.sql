-- Parameters: $1 namespace; $2 is 1 to select the marks of every namespace, and 0 to select those of $1.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: reads only, and waits for no transaction.
SELECT f.namespace, f.resource, f.token, f.domain, f.era,
       (extract(epoch FROM clock_timestamp() - f.sealed_at)::float8 * 1e6::float8)::bigint AS age_us
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text OR $2::bigint = 1
 ORDER BY f.namespace, f.resource
