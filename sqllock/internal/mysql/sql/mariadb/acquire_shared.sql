-- Parameters: in this order: the floor that look.sql read, twice; holder; note; TTL in microseconds; the id of this process in the queue, twice; the path of the share; TTL; nonce; TTL, twice; namespace; name; the id of this process in the queue; the path of the share; the server's identity that look.sql read. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the epoch token, or 0 if nothing was granted. Its highest bit is 1 if the row contains a tick: granted.sql then reads the token and the tick. If nothing was granted, look.sql reads the reason, and insert_shared.sql inserts a missing row. Error 1205: another transaction has locked the row.
-- Promise: grants a share, and is otherwise like acquire.sql. The first reader begins an epoch with a new token. Later readers join that epoch, unless a writer waits. The new values are computed from the locked row, so no reader overwrites the share of another reader. A repeated request for an existing share is granted even if a writer waits. An expression reads only columns that are assigned with it or after it, so the order in which the server evaluates the assignments does not matter.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease AS l
   SET l.nonce = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.nonce, CONCAT('00000000-0000-0000-', INSERT(LPAD(LOWER(HEX(GREATEST(
           l.token + 1, ? + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))))), 16, '0'), 5, 0, '-'))),
       l.token = LAST_INSERT_ID(IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.token, GREATEST(
           l.token + 1, ? + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))) | ((l.done IS NOT NULL) << 63)) << 1 >> 1,
       l.holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.acquired_at = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6), l.acquired_at, UTC_TIMESTAMP(6)),
       l.expires_at = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, IF(l.readers IS NULL, UTC_TIMESTAMP(6), l.held_until)),
       l.reserved_for = NULL,
       l.next_until = IF(l.waiters IS NULL OR LEFT(l.waiters, 36) = ?, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, l.next_until - INTERVAL 12 * (l.held_until <= UTC_TIMESTAMP(6)) SECOND),
       l.waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', l.waiters), CONCAT(',', ?), x''), 2), x''),
       l.readers = IF(l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6),
           JSON_SET(l.readers, CONVERT(? USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED)),
           JSON_OBJECT(CONVERT(? USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED))),
       l.held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, l.held_until)
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND (l.held_until <= UTC_TIMESTAMP(6) OR l.readers IS NOT NULL
        OR l.nonce IS NULL AND l.reserved_for = ?)
   AND (COALESCE(l.writer_until <= UTC_TIMESTAMP(6), 1)
        OR l.held_until > UTC_TIMESTAMP(6) AND JSON_CONTAINS_PATH(l.readers, 'one', CONVERT(? USING utf8mb4)))
   AND @@autocommit = 1
   AND CONCAT(@@server_id, '@', @@hostname, ':', @@port) = ?
