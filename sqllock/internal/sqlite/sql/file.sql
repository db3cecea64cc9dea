-- Parameters: ?1 the schema, or an empty text for the main schema.
-- Result: one row: the path of the database file, or an empty text for a database in memory. No row if the schema does not exist.
-- Promise: reads no table.
SELECT coalesce(file, '') FROM pragma_database_list WHERE name = CASE WHEN ?1 = '' THEN 'main' ELSE ?1 END COLLATE NOCASE
