-- Parameters: for how many microseconds a slot must not have been used.
-- Result: one row a slot.
-- Promise: reads only, and waits for nobody. LIMIT takes the place of the session's sql_select_limit, and the two comments that of its sql_big_selects: MariaDB reads the first, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(sql_big_selects = 1) */
       o.slot
  FROM rowlock_lease_outcome AS o
 WHERE o.committed_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
 LIMIT 18446744073709551615
