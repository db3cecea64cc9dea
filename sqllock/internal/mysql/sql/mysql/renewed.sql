-- Parameters: in this order: the time of the renewal by renew.sql, in microseconds since 1970, or 0 if it renewed nothing; the grants, a JSON array as in renew.sql.
-- Result: one row for each grant: n; outcome. The outcome is 'renewed' if the lease ends one TTL after the renewal or later. Otherwise it is 'unknown' if the lease has not ended, and 'lost' if the lease has ended. If a grant has no row, its outcome is unknown.
-- Promise: reads only, and waits for no other transaction. LIMIT overrides the session's sql_select_limit. The two comments override the session's sql_big_selects: MariaDB reads the first comment, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       g.n,
       CASE WHEN l.token IS NULL THEN 'lost'
            WHEN t.renewed_us > 0 AND l.expires_at >= '1970-01-01' + INTERVAL (t.renewed_us + g.ttl) MICROSECOND THEN 'renewed'
            ELSE 'unknown' END AS outcome
  FROM (SELECT CAST(? AS SIGNED) AS renewed_us) AS t
 STRAIGHT_JOIN JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   n INT PATH _utf8mb4'$.n',
                   namespace VARCHAR(256) CHARACTER SET ascii PATH _utf8mb4'$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH _utf8mb4'$.name',
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   token BIGINT PATH _utf8mb4'$.token',
                   ttl BIGINT PATH _utf8mb4'$.ttl',
                   min_hold BIGINT PATH _utf8mb4'$.min_hold',
                   handover_delay BIGINT PATH _utf8mb4'$.handover_delay')) AS g
  LEFT JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = FROM_BASE64(g.namespace) AND l.name = FROM_BASE64(g.name)
   AND l.nonce = g.nonce AND l.token = g.token AND l.expires_at > UTC_TIMESTAMP(6)
 LIMIT 1000000
