-- Parameters: namespace, name, holder and note in base64; the lock's name; for how many seconds the server lets it wait, 0 for not at all.
-- Result: LAST_INSERT_ID is the token, and a row is affected, whose times are those of the beginning of the wait; no row is, if the lock was not to be had or the server is read-only.
-- Promise: waits no longer for another holder, and locks no row before the lock is granted, for the floor is found by what that says; the token is taken under the lock. LIMIT keeps the lock from being taken twice. It is for a session that holds nothing else: another transaction that has the row locked keeps it waiting, and an error may leave the lock behind.
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
