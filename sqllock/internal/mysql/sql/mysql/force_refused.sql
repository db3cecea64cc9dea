-- Parameters: in this order: the token of the grant to end; 1 to end the grant even if its lease has not expired, else 0; namespace; name. Names are in base64.
-- Result: no row if the lock has no row, else one row: verdict ('leased', 'not held', or 'again' if the grant can still be ended); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free; the number of shares.
-- Promise: reads only, and waits for no other transaction. The two comments override the session's sql_big_selects: MariaDB reads the first comment, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       CASE WHEN l.token <> ? THEN 'not held'
            WHEN l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6) AND ? = 0 THEN 'leased'
            WHEN l.nonce IS NOT NULL OR l.held_until > UTC_TIMESTAMP(6) THEN 'again'
            ELSE 'not held' END AS verdict,
       l.token, CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
       TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)) AS since_us,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until), 0) AS free_in_us,
       (SELECT COUNT(*)
          FROM JSON_TABLE(JSON_EXTRACT(l.readers, _utf8mb4'$.*'), _utf8mb4'$[*]' COLUMNS (us BIGINT PATH _utf8mb4'$')) AS v
         WHERE v.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) AS readers
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
