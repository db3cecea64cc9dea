-- Parameters: in this order: namespace; name. Both are in base64.
-- Result: one row changed if shares were removed. Error 1205: another transaction has locked the row.
-- Promise: removes the shares that have expired, and no other share, from a lock that is shared. It waits for no other transaction. It is not part of acquire_shared.sql, because the expression makes each acquire slower. The server would search the whole object for each nonce, so the object is changed into an array of pairs, which the server reads once.
SET STATEMENT innodb_lock_wait_timeout = 0, sql_big_selects = 1 FOR
UPDATE rowlock_lease AS l
   SET l.readers = (
           SELECT JSON_OBJECTAGG(k.nonce, k.us)
             FROM JSON_TABLE(
                      REPLACE(REPLACE(REPLACE(REPLACE(l.readers, ',', '],['), ':', ','), '{', '[['), '}', ']]'),
                      '$[*]' COLUMNS (
                          nonce CHAR(36) CHARACTER SET utf8mb4 PATH '$[0]',
                          us BIGINT PATH '$[1]')) AS k
            WHERE k.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   AND l.readers IS NOT NULL AND l.held_until > UTC_TIMESTAMP(6)
