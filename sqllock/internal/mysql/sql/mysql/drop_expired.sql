-- Parameters: in this order: namespace; name; namespace; name. Both are in base64.
-- Result: one row changed if shares were removed. No row is changed if another transaction has locked the row.
-- Promise: removes the shares that have expired, and no other share, from a lock that is shared. It waits for no other transaction on the row of the lock. It is not part of acquire_shared.sql, because the expression makes each acquire slower.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */ rowlock_lease AS l
   SET l.readers = (
           SELECT JSON_OBJECTAGG(k.nonce, CAST(JSON_EXTRACT(l.readers, CONCAT('$."', k.nonce, '"')) AS SIGNED))
             FROM JSON_TABLE(JSON_KEYS(l.readers), _utf8mb4'$[*]' COLUMNS (nonce CHAR(36) CHARACTER SET utf8mb4 PATH _utf8mb4'$')) AS k
            WHERE CAST(JSON_EXTRACT(l.readers, CONCAT('$."', k.nonce, '"')) AS SIGNED) > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6)
   AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1
