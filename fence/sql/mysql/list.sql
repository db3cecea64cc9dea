-- Parameters: namespace in base64; 1 to select the marks of every namespace, 0 to select those of the first parameter.
-- Result: one row for each mark, ordered by namespace and resource. Columns: namespace, resource, token, domain, era (the number of resets), microseconds since the mark was sealed or reset.
-- Promise: reads only, and waits for no transaction. The LIMIT overrides the session's sql_select_limit. The two comments override the session's sql_big_selects: MariaDB executes the first, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(sql_big_selects = 1) */
       f.namespace, f.resource, f.token, f.domain, f.era,
       TIMESTAMPDIFF(MICROSECOND, f.sealed_at, UTC_TIMESTAMP(6)) AS age_us
  FROM rowlock_lease_fence AS f
 WHERE f.namespace = FROM_BASE64(?) OR ? = 1
 ORDER BY f.namespace, f.resource
 LIMIT 18446744073709551615
