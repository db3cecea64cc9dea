-- Parameters: the name of an attached database.
-- Result: one row: 1 if a database with this name is attached, else 0.
-- Promise: reads only.
SELECT count(*) FROM pragma_database_list WHERE name = ? COLLATE NOCASE
