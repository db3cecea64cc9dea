-- Parameters: in this order: the id of this process in the queue, five times; namespace; name; the id of this process in the queue. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if the process was in the queue. If the lock is then reserved for the next process, LAST_INSERT_ID is the number of the ear of that process, as in release.sql, else 0. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: removes this process, which no longer waits, from the queue. If the lock was reserved for this process, the lock is then reserved for the next process of the queue. If there is no next process, the lock is then free. If this process was the first of the queue, the next process counts as waiting for 35 seconds from now. The statement waits for no other transaction. An expression reads only columns that are assigned after it, so it reads their old values.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET held_until = IF(waiters = ? AND nonce IS NULL AND reserved_for = ?, TIMESTAMP'1970-01-01 00:00:00', held_until),
       reserved_for = IF(reserved_for = ? AND LAST_INSERT_ID(COALESCE(CONV(NULLIF(SUBSTRING(waiters, 62, 12), x''), 16, 10), 0)) >= 0, NULLIF(SUBSTRING(waiters, 38, 36), x''), reserved_for),
       next_until = IF(LEFT(waiters, 36) = ?, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, next_until),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', ?), x''), 2), x'')
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND FIND_IN_SET(CONVERT(? USING ascii), waiters) > 0
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
