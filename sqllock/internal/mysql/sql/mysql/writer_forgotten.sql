-- Parameters: in this order: the nonce of the writer's request; namespace; name. Names are in base64.
-- Result: one row, 'again', if this writer keeps out readers, else no row.
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       'again' AS verdict
  FROM rowlock_lease AS l
 WHERE FIND_IN_SET(CONVERT(? USING ascii), l.writers) > 0 AND l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
