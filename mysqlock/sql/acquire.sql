-- Parameters: namespace, name, holder and note in base64; the lock's name; how many seconds the server may wait for the lock, 0 for not at all.
-- Result: LAST_INSERT_ID is the token, and at least one row is affected. The stored time of the grant is the time at which the statement began to wait. No row is affected if the lock was not granted or the server is read-only.
-- Promise: waits for another holder for at most the given seconds. Locks no row before the lock is granted, because the condition on rowlock_lease_meta needs the result of GET_LOCK. Makes the token while it holds the lock. LIMIT prevents a second call of GET_LOCK. Run it only on a session that holds no other lock: another transaction may have locked the row and delay the statement, and after an error the lock may be held.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at)
SELECT FROM_BASE64(?), FROM_BASE64(?), LAST_INSERT_ID(GREATEST(
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = l.granted LOCK IN SHARE MODE), 0))),
       CONNECTION_ID(), CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4), UTC_TIMESTAMP(6)
  FROM (SELECT IF(CONCAT(@@global.read_only) IN ('0', 'OFF'), GET_LOCK(?, ?), NULL) AS granted LIMIT 1) AS l
 WHERE l.granted = 1
    ON DUPLICATE KEY UPDATE
       token = LAST_INSERT_ID(GREATEST(rowlock_lease_counter.token + 1, VALUES(token))),
       connection = VALUES(connection), holder = VALUES(holder), note = VALUES(note), granted_at = VALUES(granted_at)
