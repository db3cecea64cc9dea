-- Parameters: the names of locks as a JSON array.
-- Result: one row: how many of these locks this session holds, and whether the server is read-only.
-- Promise: reads only. The result shows that the session holds the locks, not only that it lives. Works with any character set of the schema.
SELECT COUNT(CASE WHEN IS_USED_LOCK(CONVERT(j.lock_name USING utf8mb4)) = CONNECTION_ID() THEN 1 END) AS owned,
       CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only
  FROM JSON_TABLE(CONVERT(? USING utf8mb4), _utf8mb4'$[*]' COLUMNS (lock_name VARCHAR(64) PATH _utf8mb4'$')) AS j
