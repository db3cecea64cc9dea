-- Parameters: the time in microseconds for which a slot must not have been used.
-- Result: one row for each unused slot: the slot.
-- Promise: reads only, and waits for no transaction. The LIMIT overrides the session's sql_select_limit. The two comments override the session's sql_big_selects: MariaDB executes the first, MySQL the second.
/*M! SET STATEMENT sql_big_selects = 1 FOR */
SELECT /*+ SET_VAR(sql_big_selects = 1) */
       o.slot
  FROM rowlock_lease_outcome AS o
 WHERE o.committed_at < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
 LIMIT 18446744073709551615
