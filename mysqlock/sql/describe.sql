-- Parameters: namespace and name in base64; the token; the id of the connection that holds the lock, or 0; holder and note in base64.
-- Result: none.
-- Promise: the row of the name describes this grant. If the connection is 0, the row says that the holder is unknown. Tokens do not depend on the row.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */
  INTO rowlock_lease_counter (namespace, name, token, connection, holder, note, granted_at)
VALUES (FROM_BASE64(?), FROM_BASE64(?), ?, ?, CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
       token = VALUES(token), connection = VALUES(connection), holder = VALUES(holder), note = VALUES(note), granted_at = VALUES(granted_at)
