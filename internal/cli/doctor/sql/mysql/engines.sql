-- Parameters: the database, or an empty text for the connection's current database; the lease table. Result:
-- one row for each table of rowlock: its name, and its storage engine. Promise: reads only.
SELECT TABLE_NAME, coalesce(ENGINE, '')
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = coalesce(nullif(?, ''), DATABASE()) AND TABLE_NAME IN (?, concat(?, '_meta'), concat(?, '_counter'), concat(?, '_mint'))
