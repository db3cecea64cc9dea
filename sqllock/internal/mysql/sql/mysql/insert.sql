-- Parameters: namespace, name, nonce, holder, note; in microseconds TTL, and twice the longer of TTL + hand-over delay and minimum hold; namespace, name. Names and texts are in base64.
-- Result: LAST_INSERT_ID is the token, 0 if nothing was granted. Error 1062: another session has inserted the row. Error 3572: another session is about to insert the row.
-- Promise: waits for no transaction that has changed the row. A dirty read may have seen such a row as missing, so the row is read again with NOWAIT; that second read is left out at the isolation levels that lock gaps: no read is dirty there, and two inserts would deadlock. The floor is read under a lock, so that no name is pruned between that read and the insert. A lease counts from the start of the statement, even if the row is inserted late.
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT FROM_BASE64(?), FROM_BASE64(?),
       LAST_INSERT_ID(GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
       ?, CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4),
       UTC_TIMESTAMP(6),
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1 AND m.epoch = @@server_uuid
   AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
   AND @@autocommit = 1
   AND (@@transaction_isolation IN ('REPEATABLE-READ', 'SERIALIZABLE')
        OR (SELECT COUNT(*) FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS l
                WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
                LIMIT 1
                  FOR SHARE NOWAIT) AS present) = 0)
   FOR SHARE SKIP LOCKED
