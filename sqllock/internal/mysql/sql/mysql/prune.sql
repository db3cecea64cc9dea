-- Parameters: in this order: the locks to prune, a JSON array of objects {namespace, name, token} with names in base64; the microseconds for which a lock must have been free.
-- Result: the number of deleted rows.
-- Promise: runs after raise_floor.sql. It deletes the rows that still have the token in the parameter and are still unused. It skips rows that another transaction has locked.
/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */
DELETE /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */ l
  FROM (SELECT r.namespace, r.name
          FROM JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (
                   namespace VARCHAR(256) CHARACTER SET ascii PATH _utf8mb4'$.namespace',
                   name VARCHAR(1024) CHARACTER SET ascii PATH _utf8mb4'$.name',
                   token BIGINT PATH _utf8mb4'$.token')) AS g
         STRAIGHT_JOIN rowlock_lease AS r FORCE INDEX (PRIMARY)
            ON r.namespace = FROM_BASE64(g.namespace) AND r.name = FROM_BASE64(g.name)
         WHERE r.token = g.token AND GREATEST(r.held_until, r.expires_at) <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
         LIMIT 1000000
           FOR UPDATE /*!80000 OF r */ SKIP LOCKED) AS unused
STRAIGHT_JOIN rowlock_lease AS l FORCE INDEX (PRIMARY)
    ON l.namespace = unused.namespace AND l.name = unused.name
