-- Parameters: none.
-- Result: one row: the version, which server this is, the connection's number, the schema (empty if none is chosen), whether the server folds the case of schemas, whether it is read-only, whether the session commits by itself.
-- Promise: reads only, and needs no table.
SELECT VERSION() AS version,
       CONCAT(@@hostname, ':', @@port, ' ', @@server_id, ' ', VERSION()) AS server,
       CONNECTION_ID() AS connection,
       COALESCE(CONVERT(DATABASE() USING utf8mb4), x'') AS db,
       @@lower_case_table_names <> 0 AS folds,
       CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only,
       @@autocommit AS autocommit
