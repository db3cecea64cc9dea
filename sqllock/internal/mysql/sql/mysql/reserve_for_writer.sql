-- Parameters: in this order: the nonce of the writer's request, three times; how long readers are refused, in microseconds; namespace; name. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if the lock is shared. No row is changed if another transaction has locked the row (MariaDB: error 1205).
-- Promise: records that this writer waits, so that no further reader is granted a share, unless forget_writer.sql runs for this writer and for every other writer that waits. A hundred writers are recorded at most. The readers also wait for a further writer, but forget_writer.sql cannot remove it. The statement waits for no other transaction on the row of the lock. An expression reads only columns that are assigned with it or after it, so it reads their old values.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET writers = IF(writer_until > UTC_TIMESTAMP(6), LEFT(CONCAT_WS(',', NULLIF(SUBSTRING(REPLACE(CONCAT(',', writers), CONCAT(',', ?), x''), 2), x''), ?), 3699), ?),
       writer_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND readers IS NOT NULL AND held_until > UTC_TIMESTAMP(6)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
