-- Parameters: namespace, name, holder and note in hexadecimal digits; the lock's name.
-- Result: LAST_INSERT_ID is the token, and a row is affected; no row is, if the lock is not to be had now or the server is read-only.
-- Promise: one try, which waits for no other holder; the token is taken under the lock. It is for a session that holds nothing else: another transaction that has the row locked keeps it waiting, and an error may leave the lock behind.
INSERT INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at)
SELECT UNHEX(?), UNHEX(?), LAST_INSERT_ID(GREATEST(
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
           COALESCE((SELECT m.floor + 1 FROM rowlock_lease_meta AS m WHERE m.id = 1 LOCK IN SHARE MODE), 0))),
       CONNECTION_ID(), CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4), UTC_TIMESTAMP(6)
  FROM DUAL
 WHERE CONCAT(@@global.read_only) IN ('0', 'OFF') AND GET_LOCK(?, 0) = 1
    ON DUPLICATE KEY UPDATE
       token = LAST_INSERT_ID(GREATEST(rowlock_lease_counter.token + 1, VALUES(token))),
       connection = VALUES(connection), holder = VALUES(holder), note = VALUES(note), granted_at = VALUES(granted_at)
