-- Parameters: in this order: token; the path of the share; token, twice; namespace; name. Names are in base64.
-- Result: no row if the lock has no row, else one row: verdict ('again' if the row still contains this share, 'released' if the share has ended and its epoch token is the newest token of the lock, else 'not held').
-- Promise: reads only, and waits for no other transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN ? IN (0, l.token) AND JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(? USING utf8mb4)) THEN 'again'
            WHEN l.token = ? AND ? > 0 THEN 'released'
            ELSE 'not held' END AS verdict
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
