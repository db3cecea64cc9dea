-- Parameters: in this order: the shares of one epoch, a JSON array as in renew.sql; the longest TTL of the shares in microseconds, twice; namespace; name; token; the shares again. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if all these shares were renewed. If no row changed, renewed_shared.sql reads which shares have ended. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: renews all of these shares, or none of them if one has ended. It does not change other shares. It waits for no other transaction on the row of the lock. If another transaction has locked the row, nothing is changed.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0, sql_big_selects = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */ rowlock_lease AS l
   SET l.readers = JSON_MERGE_PATCH(l.readers, (
           SELECT JSON_OBJECTAGG(CONVERT(g.nonce USING utf8mb4), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + g.ttl)
             FROM JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                      nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                      ttl BIGINT PATH _utf8mb4'$.ttl')) AS g)),
       l.expires_at = GREATEST(l.expires_at, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND),
       l.held_until = GREATEST(l.held_until, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?) AND l.token = ?
   AND l.readers IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6)
   AND (SELECT COUNT(*)
          FROM JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   ttl BIGINT PATH _utf8mb4'$.ttl')) AS g
         WHERE COALESCE(CAST(JSON_EXTRACT(l.readers, CONCAT('$."', g.nonce, '"')) AS SIGNED), 0) <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) = 0
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
