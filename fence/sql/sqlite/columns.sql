-- Parameters: ?1 the table, ?2 its schema, or an empty text for the main one.
-- Result: one row: how many of the columns exist that this version needs: 7 in the fence table, or 3 in the outcome table.
-- Promise: reads only. SQLite has one error code for every mistake in a statement, so the library has to look for missing columns.
SELECT count(*)
  FROM pragma_table_info(?1, CASE WHEN ?2 = '' THEN 'main' ELSE ?2 END)
 WHERE name IN ('namespace', 'resource', 'token', 'nonce', 'domain', 'era', 'sealed_at', 'slot', 'operation', 'committed_at')
