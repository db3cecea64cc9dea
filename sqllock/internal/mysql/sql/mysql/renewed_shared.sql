-- Parameters: in this order: the shares of one epoch, a JSON array as in renew.sql; namespace; name; token. Names are in base64.
-- Result: one row for each share that has not ended: nonce; outcome, which is 'unknown', because renew_shared.sql has renewed none of the shares.
-- Promise: reads only, and waits for no other transaction. LIMIT overrides the session's sql_select_limit. The two comments override the session's sql_big_selects: MariaDB reads the first comment, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       g.nonce, 'unknown' AS outcome
  FROM rowlock_lease AS l
 STRAIGHT_JOIN JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   ttl BIGINT PATH _utf8mb4'$.ttl')) AS g
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?) AND l.token = ? AND l.expires_at > UTC_TIMESTAMP(6)
   AND CAST(JSON_EXTRACT(l.readers, CONCAT('$."', g.nonce, '"')) AS SIGNED) > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
 LIMIT 1000000
