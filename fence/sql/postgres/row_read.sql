-- Parameters: $1 key.
-- Result: one row: the largest token of the rows with that key, or 0 if there is none, and the number of these rows.
-- Promise: reads only, and waits for no transaction.
SELECT coalesce(max(r.guarded_token::bigint), 0), count(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = $1
