-- Parameters: the lock's name; namespace and name in base64.
-- Result: one row: whether the server is read-only; the id of the connection that holds the lock, or NULL; the token, connection, holder, note and age in microseconds of the last grant, or NULL if there was none.
-- Promise: reads only. If the last grant has the id of the connection that holds the lock, the last grant still holds it.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only, u.connection, c.token, c.connection AS granted_to, c.holder, c.note,
       TIMESTAMPDIFF(MICROSECOND, c.granted_at, UTC_TIMESTAMP(6)) AS age_us
  FROM (SELECT IS_USED_LOCK(?) AS connection) AS u
  LEFT JOIN rowlock_lease_counter AS c ON c.namespace = FROM_BASE64(?) AND c.name = FROM_BASE64(?)
