-- Parameters: for how many microseconds a lock must have been free; namespace, namespace and name of the last row seen, in hexadecimal digits; how many rows at most.
-- Result: one row a lock that may be forgotten, ordered by namespace and name: namespace, name, token.
-- Promise: reads only, and waits for nobody.
SELECT l.namespace, l.name, l.token
  FROM rowlock_lease AS l
 WHERE GREATEST(l.held_until, l.expires_at) <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
   AND (l.namespace > UNHEX(?) OR l.namespace = UNHEX(?) AND l.name > UNHEX(?))
 ORDER BY l.namespace, l.name
 LIMIT ?
