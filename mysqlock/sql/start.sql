-- Parameters: none.
-- Result: one row: the version, an identification of the server, the connection's id, the schema (empty if none is chosen), whether the server ignores the case of schemas, whether it is read-only, whether autocommit is on.
-- Promise: reads only. Needs no table.
SELECT VERSION() AS version,
       CONCAT(@@hostname, ':', @@port, ' ', @@server_id, ' ', VERSION()) AS server,
       CONNECTION_ID() AS connection,
       COALESCE(CONVERT(DATABASE() USING utf8mb4), x'') AS db,
       @@lower_case_table_names <> 0 AS folds,
       CONCAT(@@global.read_only) NOT IN ('0', 'OFF') AS read_only,
       @@autocommit AS autocommit
