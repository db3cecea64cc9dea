-- Parameters: ?1 name of the lease table.
-- Result: one row: how many tables have that name; how many other tables are neither rowlock's nor SQLite's own.
-- Promise: reads only.
SELECT count(CASE WHEN name = ?1 THEN 1 END),
       count(CASE WHEN name NOT IN (?1, ?1 || '_meta', ?1 || '_fence', ?1 || '_fence_pass', ?1 || '_outcome', ?1 || '_run', ?1 || '_version', ?1 || '_waiter') AND substr(name, 1, 7) <> 'sqlite_' THEN 1 END)
  FROM sqlite_master
 WHERE type = 'table';
