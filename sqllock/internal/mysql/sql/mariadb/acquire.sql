-- Parameters: in this order: TTL + hand-over delay in microseconds; nonce; minimum hold in microseconds; nonce; the floor that look.sql read; nonce, twice; holder; note; TTL in microseconds; the id of this process in the queue, twice; namespace; name; nonce; the id of this process in the queue; the server's identity that look.sql read. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the token, or 0 if nothing was granted. Its highest bit is 1 if the row contains a tick: granted.sql then reads the token and the tick. If nothing was granted, look.sql reads the reason, and insert.sql inserts a missing row. Error 1205: another transaction has locked the row.
-- Promise: waits for no other transaction, and changes nothing unless it grants the lock. An expression reads only columns that are assigned after it, so the order in which the server evaluates the assignments does not matter. An old value of the floor is safe, because the existing row was inserted after all pruned rows of its name. A lock that is reserved for this process is granted to it. A grant removes this process from the queue. It also deletes the expired shares of readers, and the note that a writer waits. If another process is first in the queue, that process has missed its reservation. It then counts as waiting for 12 seconds less, so that a dead process leaves the queue sooner.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease AS l
   SET l.held_until = GREATEST(UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
           IF(l.nonce <=> ?, l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND),
       l.token = LAST_INSERT_ID(IF(l.nonce <=> ?, l.token, GREATEST(
           l.token + 1, ? + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))) | ((l.done IS NOT NULL) << 63)) << 1 >> 1,
       l.acquired_at = IF(l.nonce <=> ?, l.acquired_at, UTC_TIMESTAMP(6)),
       l.nonce = ?,
       l.holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       l.reserved_for = NULL,
       l.readers = NULL,
       l.writer_until = NULL,
       l.next_until = IF(l.waiters IS NULL OR LEFT(l.waiters, 36) = ?, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, l.next_until - INTERVAL 12 SECOND),
       l.waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', l.waiters), CONCAT(',', ?), x''), 2), x'')
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND (l.held_until <= UTC_TIMESTAMP(6) OR l.nonce = ?
        OR l.nonce IS NULL AND l.reserved_for = ?)
   AND @@autocommit = 1
   AND CONCAT(@@server_id, '@', @@hostname, ':', @@port) = ?
