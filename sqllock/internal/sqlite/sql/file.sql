-- Parameters: ?1 the schema, or an empty text for the main one.
-- Result: one row: the path of the database file, empty if it is in memory; no row if the schema does not exist.
-- Promise: reads no table.
SELECT coalesce(file, '') FROM pragma_database_list WHERE name = CASE WHEN ?1 = '' THEN 'main' ELSE ?1 END COLLATE NOCASE
