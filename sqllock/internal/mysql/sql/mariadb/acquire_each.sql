-- Parameters: in this order: eight names; eight nonces; holder; note; TTL; the longer of TTL + hand-over delay and minimum hold; namespace; eight names; the floor that look.sql read; the server's identity that look.sql read. If there are fewer requests, the last name and nonce are repeated. Durations are in microseconds. Names, holder and note are in base64.
-- Result: the number of granted locks. LAST_INSERT_ID is the token of each of them. If some locks were not granted, granted.sql reads which ones were. Error 1205: another transaction has locked a row, and nothing is changed.
-- Promise: changes only rows of locks that it grants, and waits for no other transaction. It grants a lock only if the lock is free, its row exists, its row contains no tick, and the time in microseconds is larger than every earlier token. acquire.sql acquires the other locks. An old value of the floor is safe, because an existing row was inserted after all pruned rows of its name. A grant also deletes the expired shares of readers, and the note that a writer waits. The queue does not change. If a process waits, it has missed its reservation. Its last confirmation that it waits is then dated back by one second, so that a dead process leaves the queue sooner. No new value depends on another column that changes, so the order of the assignments does not matter.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease AS l FORCE INDEX (PRIMARY)
   SET l.token = LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       l.nonce = ELT(FIELD(l.name, FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?)),
           ?, ?, ?, ?, ?, ?, ?, ?),
       l.holder = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.note = CONVERT(FROM_BASE64(?) USING utf8mb4),
       l.acquired_at = UTC_TIMESTAMP(6),
       l.expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       l.held_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       l.reserved_for = NULL,
       l.readers = NULL,
       l.writer_until = NULL,
       l.next_seen_at = l.next_seen_at - INTERVAL 1 SECOND
 WHERE l.namespace = FROM_BASE64(?)
   AND l.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
   AND l.held_until <= UTC_TIMESTAMP(6) AND l.done IS NULL
   AND GREATEST(l.token, ?) < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
   AND @@autocommit = 1
   AND CONCAT(@@server_id, '@', @@hostname, ':', @@port) = ?
