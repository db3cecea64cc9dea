-- Parameters: in this order: eight names; eight nonces; holder; note; TTL; the longer of TTL + hand-over delay and minimum hold; namespace; eight names; namespace; eight names; the floor that look.sql read; the server's identity that look.sql read; the number of requests. If there are fewer requests, the last name and nonce are repeated. Durations are in microseconds. Names, holder and note are in base64.
-- Result: the number of granted locks, which is the number of requests or 0. LAST_INSERT_ID is the token of each of them.
-- Promise: grants all locks or none, and waits for no other transaction. It skips a row that another transaction has locked. It grants a lock only if the lock is free, its row exists, its row contains no tick, and the time in microseconds is larger than every earlier token. acquire.sql acquires the other locks. An old value of the floor is safe, because an existing row was inserted after all pruned rows of its name. A grant also deletes the expired shares of readers, and the note that a writer waits. The queue does not change. If a process waits, it has missed its reservation. Its last confirmation that it waits is then dated back by one second, so that a dead process leaves the queue sooner. No new value depends on another column that changes, so the order of the assignments does not matter.
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
       l.next_seen_at = l.next_seen_at - INTERVAL 1 SECOND
 WHERE l.namespace = FROM_BASE64(?)
   AND l.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
   AND (SELECT idle.locks FROM (
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
                  FOR UPDATE SKIP LOCKED) AS one) AS idle) = ?
