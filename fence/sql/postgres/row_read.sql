-- Parameters: $1 key.
-- Result: one row: the newest token of the rows with that key, 0 if there is none, and how many they are.
-- Promise: reads only, and waits for nobody.
SELECT coalesce(max(r.guarded_token::bigint), 0), count(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = $1
