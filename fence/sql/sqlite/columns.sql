-- Parameters: ?1 the table, ?2 its schema, or an empty text for the main one.
-- Result: one row: how many columns of this version exist. All are 7 of the fence table, or 3 of the outcome table.
-- Promise: reads only. SQLite has one code for every error in a statement, so the library looks for missing columns.
SELECT count(*)
  FROM pragma_table_info(?1, CASE WHEN ?2 = '' THEN 'main' ELSE ?2 END)
 WHERE name IN ('namespace', 'resource', 'token', 'nonce', 'domain', 'era', 'sealed_at', 'slot', 'operation', 'committed_at')
