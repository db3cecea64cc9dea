-- Parameters: namespace, name, nonce, holder, note; in microseconds TTL, TTL + hand-over delay, minimum hold, the longer of the last two, TTL + hand-over delay, minimum hold; nonce. Names and texts are in hexadecimal digits.
-- Result: one row: verdict, token, and of whoever has the lock: holder, note, microseconds since the grant and until it is free. No row: look.sql tells why. Error 1205: the row is locked.
-- Promise: waits for nobody, and changes nothing unless it grants. The mode is set because in others (SIMULTANEOUS_ASSIGNMENT, ORACLE) assignments are not evaluated from left to right: what asks for the old nonce stands before the nonce, and what the new one decides behind it.
SET STATEMENT innodb_lock_wait_timeout = 0, sql_mode = 'STRICT_ALL_TABLES' FOR
INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT UNHEX(?), UNHEX(?),
       GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       ?, CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4),
       UTC_TIMESTAMP(6),
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1 AND m.epoch = CONCAT(@@server_id, '@', @@hostname, ':', @@port)
   AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
   AND @@autocommit = 1
  LOCK IN SHARE MODE
    ON DUPLICATE KEY UPDATE
       token = IF(nonce = VALUES(nonce) OR held_until > UTC_TIMESTAMP(6), token, GREATEST(token + 1, VALUES(token))),
       acquired_at = IF(nonce = VALUES(nonce) OR held_until > UTC_TIMESTAMP(6), acquired_at, VALUES(acquired_at)),
       nonce = IF(held_until > UTC_TIMESTAMP(6), nonce, VALUES(nonce)),
       holder = IF(nonce = VALUES(nonce), VALUES(holder), holder),
       note = IF(nonce = VALUES(nonce), VALUES(note), note),
       expires_at = IF(nonce = VALUES(nonce), VALUES(expires_at), expires_at),
       held_until = IF(nonce = VALUES(nonce),
           GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, acquired_at + INTERVAL ? MICROSECOND), held_until)
RETURNING CASE WHEN nonce = ? THEN 'granted'
               WHEN nonce IS NULL THEN 'min hold'
               WHEN expires_at > UTC_TIMESTAMP(6) THEN 'leased'
               ELSE 'handover' END AS verdict,
          token, CAST(holder AS BINARY) AS holder, CAST(note AS BINARY) AS note,
          TIMESTAMPDIFF(MICROSECOND, acquired_at, UTC_TIMESTAMP(6)) AS since_us,
          TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), held_until) AS free_in_us
