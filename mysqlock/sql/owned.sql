-- Parameters: the names of locks as a JSON array.
-- Result: a row for each: its place in the array from 1, whether this very session holds the lock, and whether the server is read-only.
-- Promise: reads only; proves ownership and not only life.
SELECT j.place, COALESCE(IS_USED_LOCK(j.lock_name) = CONNECTION_ID(), 0) AS owned,
       CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only
  FROM JSON_TABLE(?, '$[*]' COLUMNS (place FOR ORDINALITY, lock_name VARCHAR(64) PATH '$')) AS j
