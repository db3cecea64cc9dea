-- Parameters: waiter, five times; namespace, name, waiter, twice; namespace, name. The names are in base64.
-- Result: one row changed if the waiter is in line.
-- Promise: puts the waiter at the end of the line, once; in front if who is next was not seen in the last three seconds, which is forgotten; and notes that a waiter that is next was seen. Nobody is in line for a lock that is free; waits for nobody. Assignments are evaluated from left to right.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET waiters = IF(
           waiters IS NULL OR LEFT(waiters, 36) = ? OR reserved_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND,
           CONCAT_WS(',', ?, NULLIF(SUBSTRING(REPLACE(SUBSTRING(waiters, 37), CONCAT(',', ?), x''), 2), x'')),
           CONCAT_WS(',', waiters, ?)),
       reserved_at = IF(LEFT(waiters, 36) = ?, UTC_TIMESTAMP(6), reserved_at)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND (nonce IS NOT NULL OR waiters IS NOT NULL)
   AND (waiters IS NULL OR LEFT(waiters, 36) = ? OR reserved_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND
        OR FIND_IN_SET(CONVERT(? USING ascii), waiters) = 0 AND CHAR_LENGTH(waiters) <= 3663)
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
