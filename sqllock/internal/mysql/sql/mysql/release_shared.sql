-- Parameters: in this order: the path of the share, twice; namespace; name; token (0 means any epoch); the path of the share. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if the share was ended. If this was the last share, LAST_INSERT_ID is the number of an ear, or 0, as in release.sql. If no row changed, share_released_before.sql reads the reason. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: ends only this share. If other shares have not expired, the lock stays shared until the last of them expires. Otherwise the lock is released as by release.sql. Assignments are evaluated from left to right. On MariaDB the statement sets sql_mode, because in some modes (SIMULTANEOUS_ASSIGNMENT, ORACLE) they are not. So an assignment reads the new value of expires_at, which says whether the lock stays shared, and reads the old value of held_until. On MySQL the statement waits for no other transaction on the row of the lock: if another transaction has locked the row, nothing is changed, and share_released_before.sql returns 'again'. On MariaDB it waits for that transaction for at most one second.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1, sql_big_selects = 1, sql_mode = 'STRICT_ALL_TABLES' FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */ rowlock_lease AS l
   SET expires_at = COALESCE(
           IF(JSON_LENGTH(readers) > 1, '1970-01-01' + INTERVAL (
               SELECT MAX(v.us)
                 FROM JSON_TABLE(JSON_EXTRACT(JSON_REMOVE(l.readers, CONVERT(? USING utf8mb4)), _utf8mb4'$.*'), _utf8mb4'$[*]' COLUMNS (
                          us BIGINT PATH _utf8mb4'$')) AS v
                WHERE v.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) MICROSECOND, NULL),
           LEAST(expires_at, UTC_TIMESTAMP(6))),
       reserved_for = IF(expires_at <= UTC_TIMESTAMP(6) AND LAST_INSERT_ID(CONV(SUBSTRING(waiters, 25, 12), 16, 10)) >= 0
           AND held_until > UTC_TIMESTAMP(6) AND next_until > UTC_TIMESTAMP(6),
           LEFT(waiters, 36), NULL),
       held_until = CASE
           WHEN expires_at > UTC_TIMESTAMP(6) THEN expires_at
           WHEN reserved_for IS NOT NULL THEN UTC_TIMESTAMP(6) + INTERVAL 50000 MICROSECOND
           ELSE TIMESTAMP'1970-01-01 00:00:00' END,
       nonce = IF(expires_at > UTC_TIMESTAMP(6), nonce, NULL),
       readers = IF(expires_at > UTC_TIMESTAMP(6), JSON_REMOVE(readers, CONVERT(? USING utf8mb4)), NULL)
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND ? IN (0, token) AND JSON_CONTAINS_PATH(readers, 'one', CONVERT(? USING utf8mb4))
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
