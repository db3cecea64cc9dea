-- Parameters: the grants, a JSON array of objects {n, namespace, name, nonce, token, ttl, min_hold, handover_delay}. Names are in base64, durations in microseconds.
-- Result: the number of renewed rows. LAST_INSERT_ID is the time of the renewal in microseconds since 1970.
-- Promise: renews no lease that has ended, inserts no row, and waits for no other transaction. It skips a row that another transaction has locked, and renews the others. It finds rows by the primary key, and joins the tables in the order in which the statement names them.
/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       (SELECT r.namespace, r.name, g.ttl, g.min_hold, g.handover_delay
          FROM JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   n INT PATH _utf8mb4'$.n',
                   namespace VARCHAR(256) CHARACTER SET ascii PATH _utf8mb4'$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH _utf8mb4'$.name',
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH _utf8mb4'$.nonce',
                   token BIGINT PATH _utf8mb4'$.token',
                   ttl BIGINT PATH _utf8mb4'$.ttl',
                   min_hold BIGINT PATH _utf8mb4'$.min_hold',
                   handover_delay BIGINT PATH _utf8mb4'$.handover_delay')) AS g
         STRAIGHT_JOIN rowlock_lease AS r FORCE INDEX (PRIMARY)
            ON r.namespace = FROM_BASE64(g.namespace) AND r.name = FROM_BASE64(g.name)
         WHERE r.nonce = g.nonce AND r.token = g.token AND r.expires_at > UTC_TIMESTAMP(6)
         LIMIT 1000000
           FOR UPDATE /*!80000 OF r */ SKIP LOCKED) AS alive
STRAIGHT_JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = alive.namespace AND l.name = alive.name
   SET l.expires_at = '1970-01-01' + INTERVAL (LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) + alive.ttl) MICROSECOND,
       l.held_until = GREATEST(
           UTC_TIMESTAMP(6) + INTERVAL (alive.ttl + alive.handover_delay) MICROSECOND,
           LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL alive.min_hold MICROSECOND)
