-- Parameters: in this order: namespace in base64; 1 to list every namespace, else 0.
-- Result: one row for each lock, ordered by namespace and name: namespace; name; state; token, holder and note of the current or last grant; the microseconds since that grant; the microseconds until the lease ends; the microseconds until the lock is free; the last recorded tick, or an empty text; the number of shares; how many processes are in the queue, or 0 if the first of them no longer counts as waiting.
-- Promise: reads only, and waits for no other transaction. LIMIT overrides the session's sql_select_limit. The two comments override the session's sql_big_selects: MariaDB reads the first comment, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(sql_big_selects = 1) */
       l.namespace, l.name,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > UTC_TIMESTAMP(6) THEN 'held'
            WHEN l.held_until > UTC_TIMESTAMP(6) THEN 'closed'
            WHEN l.nonce IS NOT NULL THEN 'expired'
            ELSE 'free' END AS state,
       l.token, CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
       IF(l.token > 0, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)), 0) AS age_us,
       IF(l.token > 0, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), 0) AS expires_in_us,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until), 0) AS free_in_us,
       COALESCE(CAST(l.done AS BINARY), x'') AS done,
       (SELECT COUNT(*)
          FROM JSON_TABLE(JSON_EXTRACT(l.readers, _utf8mb4'$.*'), _utf8mb4'$[*]' COLUMNS (us BIGINT PATH _utf8mb4'$')) AS v
         WHERE v.us > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) AS readers,
       IF(l.waiters IS NOT NULL AND l.next_until > UTC_TIMESTAMP(6), (CHAR_LENGTH(l.waiters) + 1) DIV 37, 0) AS waiters
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) OR ? = 1
 ORDER BY l.namespace, l.name
 LIMIT 18446744073709551615
