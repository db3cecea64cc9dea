-- Parameters: the lock's name.
-- Result: one row: whether the server is read-only; the id of the connection that holds the lock, or NULL; and the user and host of that connection, as far as the caller may see them.
-- Promise: reads only. Needs no table.
SELECT CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only, u.connection, p.USER AS who, p.HOST AS whence
  FROM (SELECT IS_USED_LOCK(?) AS connection) AS u
  LEFT JOIN information_schema.PROCESSLIST AS p ON p.ID = u.connection
