-- Parameters: in this order: the id of this process in the queue, five times; namespace; name; the id of this process in the queue, twice. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if the process is in the queue. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: adds the process to the end of the queue, unless the process is in the queue already or the queue has 400 processes. If the first process of the queue no longer counts as waiting, this process replaces it. If this process is the first, it counts as waiting for 35 seconds from now. The statement changes nothing if the lock is free, because the process can then acquire it. The statement waits for no other transaction. Assignments are evaluated from left to right. On MariaDB the statement sets sql_mode, because in some modes (SIMULTANEOUS_ASSIGNMENT, ORACLE) they are not.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0, sql_mode = 'STRICT_ALL_TABLES' FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET waiters = IF(
           waiters IS NULL OR LEFT(waiters, 36) = ? OR next_until <= UTC_TIMESTAMP(6),
           CONCAT_WS(',', ?, NULLIF(SUBSTRING(REPLACE(SUBSTRING(waiters, 37), CONCAT(',', ?), x''), 2), x'')),
           CONCAT_WS(',', waiters, ?)),
       next_until = IF(LEFT(waiters, 36) = ?, UTC_TIMESTAMP(6) + INTERVAL 35 SECOND, next_until)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND held_until > UTC_TIMESTAMP(6)
   AND (waiters IS NULL OR LEFT(waiters, 36) = ? OR next_until <= UTC_TIMESTAMP(6)
        OR FIND_IN_SET(CONVERT(? USING ascii), waiters) = 0 AND (CHAR_LENGTH(waiters) + 1) DIV 37 < 400)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
