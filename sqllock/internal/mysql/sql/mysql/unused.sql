-- Parameters: in this order: the microseconds for which a lock must have been free; the namespace of the last row read, twice; the name of the last row read; the largest number of rows to return. Names are in base64.
-- Result: one row for each lock that may be pruned, ordered by namespace and name: namespace, name, token.
-- Promise: reads only, and waits for no other transaction.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       l.namespace, l.name, l.token
  FROM rowlock_lease AS l
 WHERE GREATEST(l.held_until, l.expires_at) <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
   AND (l.namespace > FROM_BASE64(?) OR l.namespace = FROM_BASE64(?) AND l.name > FROM_BASE64(?))
 ORDER BY l.namespace, l.name
 LIMIT ?
