-- Parameters: ?1 the table, ?2 its schema, or an empty text for the main one.
-- Result: one row: how many of the columns of this version there are: 7 of the fence table, 3 of the outcome table.
-- Promise: reads only. SQLite has one code for every mistake in a statement, so a missing column is looked for.
SELECT count(*)
  FROM pragma_table_info(?1, CASE WHEN ?2 = '' THEN 'main' ELSE ?2 END)
 WHERE name IN ('namespace', 'resource', 'token', 'nonce', 'domain', 'era', 'sealed_at', 'slot', 'operation', 'committed_at')
