-- Parameters: in this order: namespace; name; holder; note; TTL, twice; nonce; TTL, twice. Durations are in microseconds. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the epoch token, or 0 if nothing was granted. Error 1062: another session has inserted the row. Error 1205: another session is inserting the row.
-- Promise: inserts the row with one share, and is otherwise like insert.sql. It waits for no other transaction. The floor is read under a lock, so that no name is pruned between that read and the insert.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until, readers)
SELECT FROM_BASE64(?), FROM_BASE64(?),
       LAST_INSERT_ID(GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
       CONCAT('00000000-0000-0000-', INSERT(LPAD(LOWER(HEX(GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))), 16, '0'), 5, 0, '-')),
       CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4),
       UTC_TIMESTAMP(6),
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       JSON_OBJECT(CONVERT(? USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED))
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1 AND m.epoch = CONCAT(@@server_id, '@', @@hostname, ':', @@port)
   AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
   AND @@autocommit = 1
  LOCK IN SHARE MODE
