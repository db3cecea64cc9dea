-- Parameters: the attached database, or an empty text for main; the table.
-- Result: one row: 1 if the version table exists, else 0.
-- Promise: reads only.
SELECT count(*) > 0 FROM pragma_table_info(?2, CASE WHEN ?1 = '' THEN 'main' ELSE ?1 END)
