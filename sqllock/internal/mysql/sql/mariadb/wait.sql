-- Parameters: in this order: the id of this process in the queue, five times; namespace; name; the id of this process in the queue, twice. Names are in base64.
-- Result: one row changed if the process is in the queue. Error 1205: another transaction has locked the row.
-- Promise: adds the process to the end of the queue, unless the process is in the queue already or the queue has 100 processes. If the first process of the queue has not confirmed in the last three seconds that it waits, this process replaces it. If this process is the first, the statement records that it still waits now. A free lock without a queue gets no queue. The statement waits for no other transaction. The statement sets sql_mode, because in some modes (SIMULTANEOUS_ASSIGNMENT, ORACLE) assignments are not evaluated from left to right.
SET STATEMENT innodb_lock_wait_timeout = 0, sql_mode = 'STRICT_ALL_TABLES' FOR
UPDATE rowlock_lease
   SET waiters = IF(
           waiters IS NULL OR LEFT(waiters, 36) = ? OR next_seen_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND,
           CONCAT_WS(',', ?, NULLIF(SUBSTRING(REPLACE(SUBSTRING(waiters, 37), CONCAT(',', ?), x''), 2), x'')),
           CONCAT_WS(',', waiters, ?)),
       next_seen_at = IF(LEFT(waiters, 36) = ?, UTC_TIMESTAMP(6), next_seen_at)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND (nonce IS NOT NULL OR waiters IS NOT NULL)
   AND (waiters IS NULL OR LEFT(waiters, 36) = ? OR next_seen_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND
        OR FIND_IN_SET(CONVERT(? USING ascii), waiters) = 0 AND (CHAR_LENGTH(waiters) + 1) DIV 37 < 100)
