-- Parameters: the time at which renew.sql ran, in microseconds since 1970 (0: it renewed nothing); the grants, as renew.sql takes them.
-- Result: one row a grant that is alive: n, and its outcome: 'renewed' if it ends one TTL after that time or later, else 'unknown'. A grant without a row is lost.
-- Promise: reads only, and waits for nobody.
SELECT g.n,
       IF(t.renewed_us > 0 AND l.expires_at >= '1970-01-01' + INTERVAL (t.renewed_us + g.ttl) MICROSECOND,
          'renewed', 'unknown') AS outcome
  FROM (SELECT CAST(? AS SIGNED) AS renewed_us) AS t
 STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (
                   n INT PATH '$.n',
                   namespace VARCHAR(256) CHARACTER SET ascii PATH '$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH '$.name',
                   nonce CHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$.nonce',
                   token BIGINT PATH '$.token',
                   ttl BIGINT PATH '$.ttl',
                   min_hold BIGINT PATH '$.min_hold',
                   handover_delay BIGINT PATH '$.handover_delay')) AS g
 STRAIGHT_JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = UNHEX(g.namespace) AND l.name = UNHEX(g.name)
 WHERE l.nonce = g.nonce AND l.token = g.token AND l.expires_at > UTC_TIMESTAMP(6)
