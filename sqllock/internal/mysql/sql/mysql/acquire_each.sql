-- Parameters: in this order: eight names; eight nonces; holder; note; TTL; the longer of TTL + hand-over delay and minimum hold; namespace; eight names; on MySQL once more namespace and eight names; the floor that look.sql read; the server's identity that look.sql read; on MySQL the number of requests. If there are fewer requests, the last name and nonce are repeated. Durations are in microseconds. Names, holder and note are in base64.
-- Result: the number of granted locks. LAST_INSERT_ID is the token of each of them. If some locks were not granted, granted.sql reads which ones were. Error 1205 (MariaDB): another transaction has locked a row, and nothing is changed.
-- Promise: changes only rows of locks that it grants, and waits for no other transaction. On MySQL it grants all locks or none. It grants a lock only if the lock is free, its row exists, its row contains no tick, and the time in microseconds is larger than every earlier token. acquire.sql acquires the other locks. An old value of the floor is safe, because an existing row was inserted after all pruned rows of its name. A grant also deletes the expired shares of readers, and the note that a writer waits. The queue does not change. If a process waits, it has missed its reservation. It then counts as waiting for 12 seconds less, so that a dead process leaves the queue sooner. No new value depends on another column that changes, so the order of the assignments does not matter.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease AS l FORCE INDEX (PRIMARY)
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
       l.next_until = l.next_until - INTERVAL 12 SECOND
 WHERE l.namespace = FROM_BASE64(?)
   AND l.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
   /*!80000 AND (SELECT idle.locks FROM (
           SELECT COUNT(*) AS locks FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS r FORCE INDEX (PRIMARY)
                WHERE r.namespace = FROM_BASE64(?)
                  AND r.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
                  AND r.held_until <= UTC_TIMESTAMP(6) AND r.done IS NULL
                  AND GREATEST(r.token, ?) < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                  AND @@autocommit = 1
                  AND @@server_uuid = ?
                LIMIT 1000000
                  FOR UPDATE SKIP LOCKED) AS one) AS idle) = ? */
   /*M! AND l.held_until <= UTC_TIMESTAMP(6) AND l.done IS NULL
   AND GREATEST(l.token, ?) < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
   AND @@autocommit = 1
   AND CONCAT(@@server_id, '@', @@hostname, ':', @@port) = ? */
