-- Parameters: in this order: namespace; name; the id of this process in the queue; the path of the share; the server's identity that look.sql read; the path of the share; TTL in microseconds; nonce; TTL; the floor that look.sql read, twice; holder; note; TTL, twice; the id of this process in the queue, twice. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the epoch token, or 0 if nothing was granted. Its highest bit is 1 if the row contains a tick: granted.sql then reads the token and the tick. If nothing was granted, look.sql reads the reason, and insert_shared.sql inserts a missing row.
-- Promise: grants a share, and is otherwise like acquire.sql. The first reader begins an epoch with a new token. Later readers join that epoch, unless a writer waits. The new values are computed from the locked row (l), so no reader overwrites the share of another reader. A repeated request for an existing share is granted even if a writer waits.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
SELECT l.namespace, l.name, 0, x'', x'', l.acquired_at, l.expires_at, l.held_until
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND (l.held_until <= UTC_TIMESTAMP(6) OR l.readers IS NOT NULL
        OR l.nonce IS NULL AND l.reserved_for = ?)
   AND (COALESCE(l.writer_until <= UTC_TIMESTAMP(6), 1)
        OR l.held_until > UTC_TIMESTAMP(6) AND JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(? USING utf8mb4)))
   AND @@autocommit = 1
   AND @@server_uuid = ?
   FOR UPDATE SKIP LOCKED
    ON DUPLICATE KEY UPDATE
       readers = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6),
           JSON_SET(l.readers, CONVERT(? USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED)),
           JSON_OBJECT(CONVERT(? USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED))),
       token = LAST_INSERT_ID(IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.token, GREATEST(
           l.token + 1, ? + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))) | ((l.done IS NOT NULL) << 63)) << 1 >> 1,
       nonce = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.nonce, CONCAT('00000000-0000-0000-', INSERT(LPAD(LOWER(HEX(GREATEST(
           l.token + 1, ? + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))), 16, '0'), 5, 0, '-'))),
       holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       acquired_at = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.acquired_at, UTC_TIMESTAMP(6)),
       expires_at = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, IF(l.readers IS NULL, UTC_TIMESTAMP(6), l.held_until)),
       held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, IF(l.readers IS NULL, UTC_TIMESTAMP(6), l.held_until)),
       reserved_for = NULL,
       next_until = IF(l.waiters IS NULL OR LEFT(l.waiters, 36) = ?, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, l.next_until - INTERVAL 12 * (l.held_until <= UTC_TIMESTAMP(6)) SECOND),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', l.waiters), CONCAT(',', ?), x''), 2), x'')
