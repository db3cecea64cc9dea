-- Parameters: ?1 the name of the lease table. Result: one row: the number of tables with that name;
-- the number of tables that belong neither to rowlock nor to SQLite itself. Promise: reads only.
SELECT count(CASE WHEN name = ?1 THEN 1 END),
       count(CASE WHEN name NOT IN (?1, ?1 || '_meta', ?1 || '_fence', ?1 || '_fence_pass', ?1 || '_outcome', ?1 || '_run', ?1 || '_version', ?1 || '_waiter') AND substr(name, 1, 7) <> 'sqlite_' THEN 1 END)
  FROM sqlite_master
 WHERE type = 'table';
