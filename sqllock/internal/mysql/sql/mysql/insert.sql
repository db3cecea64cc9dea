-- Parameters: in this order: namespace; name; nonce; holder; note; TTL; the longer of TTL + hand-over delay and minimum hold, twice. On MySQL, namespace and name follow once more. Durations are in microseconds. Names, holder and note are in base64.
-- Result: LAST_INSERT_ID is the token, or 0 if nothing was granted. Error 1062: another session has inserted the row. Error 3572 (MariaDB: 1205): another session is inserting the row.
-- Promise: waits for no transaction that has changed the row. At READ UNCOMMITTED, look.sql finds no row if another transaction has deleted the row and not committed yet. So on MySQL this statement reads the row again with NOWAIT. At REPEATABLE READ and SERIALIZABLE this second read is omitted. At these levels look.sql sees only committed rows, and two inserts that have locked the same gap would deadlock. The floor is read under a lock, so that no name is pruned between that read and the insert. The TTL starts when the statement starts, even if the row is inserted later. On MariaDB the statement waits for no other transaction.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until, done)
SELECT FROM_BASE64(?), FROM_BASE64(?),
       LAST_INSERT_ID(GREATEST(m.floor + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
       ?, CONVERT(FROM_BASE64(?) USING utf8mb4), CONVERT(FROM_BASE64(?) USING utf8mb4),
       UTC_TIMESTAMP(6),
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND,
       NULL
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1 AND m.epoch = /*!80000 @@server_uuid */ /*M! CONCAT(@@server_id, '@', @@hostname, ':', @@port) */
   AND m.quarantined_until <= UTC_TIMESTAMP(6) AND m.longest_ttl_us >= ?
   AND @@autocommit = 1
   /*!80000 AND (@@transaction_isolation IN ('REPEATABLE-READ', 'SERIALIZABLE')
        OR (SELECT COUNT(*) FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS l
                WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
                LIMIT 1
                  FOR SHARE NOWAIT) AS present) = 0)
   FOR SHARE SKIP LOCKED */
   /*M! LOCK IN SHARE MODE */
