-- Parameters: schema (empty: the connection's); table.
-- Result: rows of a table and its engine, for the tables of locks.
-- Promise: reads only.
SELECT TABLE_NAME, coalesce(ENGINE, '')
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = coalesce(nullif(?, ''), DATABASE()) AND TABLE_NAME IN (?, concat(?, '_meta'), concat(?, '_counter'))
