-- Parameters: namespace in hexadecimal digits, 1 for every namespace, else 0.
-- Result: one row a mark, ordered by namespace and resource: namespace, resource, token, domain, era, microseconds since it was sealed or reset; names and domain in hexadecimal digits.
-- Promise: reads only, and waits for nobody.
SELECT LOWER(HEX(f.namespace)), LOWER(HEX(f.resource)), f.token, LOWER(HEX(f.domain)), f.era,
       TIMESTAMPDIFF(MICROSECOND, f.sealed_at, UTC_TIMESTAMP(6)) AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = UNHEX(?) OR ? = 1
 ORDER BY f.namespace, f.resource
