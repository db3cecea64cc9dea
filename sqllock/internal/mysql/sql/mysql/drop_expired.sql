-- Parameters: in this order: namespace; name. On MySQL both follow once more. Both are in base64.
-- Result: one row changed if shares were removed. No row is changed if another transaction has locked the row (MariaDB: error 1205).
-- Promise: removes the shares that have expired, and no other share, from a lock that is shared. It waits for no other transaction on the row of the lock. It is not part of acquire_shared.sql, because the expression makes each acquire slower. MariaDB would search the whole object for each nonce, so the object is changed into an array of pairs, which the server reads once.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0, sql_big_selects = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */ rowlock_lease AS l
   SET l.readers = (
           SELECT JSON_OBJECTAGG(k.nonce, k.us)
             FROM JSON_TABLE(
                      REPLACE(REPLACE(REPLACE(REPLACE(l.readers, ',', '],['), ':', ','), '{', '[['), '}', ']]'),
                      _utf8mb4'$[*]' COLUMNS (
                          nonce CHAR(36) CHARACTER SET utf8mb4 PATH _utf8mb4'$[0]',
                          us BIGINT PATH _utf8mb4'$[1]')) AS k
            WHERE k.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6)
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
