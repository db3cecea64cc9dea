-- Parameters: namespace and name in base64, the id of the connection that holds the lock, holder and note in base64, the lock's name, the same id again, the lock's name again.
-- Result: LAST_INSERT_ID is the token, or 0 if that connection does not hold the lock.
-- Promise: the token is larger than every earlier token of the row. While the row is locked, the statement checks that the connection holds the lock. Any connection may run it.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at)
SELECT FROM_BASE64(?), FROM_BASE64(?), LAST_INSERT_ID(GREATEST(
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = 1 LOCK IN SHARE MODE), 0))),
       ?, CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4), UTC_TIMESTAMP(6)
  FROM DUAL
 WHERE IS_USED_LOCK(?) = ?
    ON DUPLICATE KEY UPDATE
       token = IF(IS_USED_LOCK(?) <=> VALUES(connection),
                  LAST_INSERT_ID(GREATEST(rowlock_lease_counter.token + 1, VALUES(token))),
                  rowlock_lease_counter.token + 0 * LAST_INSERT_ID(0)),
       connection = VALUES(connection), holder = VALUES(holder), note = VALUES(note), granted_at = VALUES(granted_at)
