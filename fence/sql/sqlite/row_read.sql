-- Parameters: ?1 key.
-- Result: one row: the largest token of the rows with that key, or 0 if there is none, and the number of these rows.
-- Promise: reads only.
SELECT coalesce(max(CAST(r.guarded_token AS INTEGER)), 0), count(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = ?1
