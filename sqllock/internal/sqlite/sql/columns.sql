-- Parameters: ?1 lease table; ?2 meta table; ?3 the schema of the tables, or an empty text for the main schema; ?4 waiter table.
-- Result: one row: how many of the 24 columns of this version exist.
-- Promise: reads only. SQLite has one error code for every mistake in a statement, so this statement looks for missing columns.
SELECT (SELECT count(*) FROM pragma_table_info(?1, CASE WHEN ?3 = '' THEN 'main' ELSE ?3 END)
         WHERE name IN ('namespace', 'name', 'token', 'nonce', 'holder', 'note', 'acquired_at', 'expires_at', 'held_until', 'reserved_for', 'done', 'readers', 'writer_until', 'writers'))
     + (SELECT count(*) FROM pragma_table_info(?2, CASE WHEN ?3 = '' THEN 'main' ELSE ?3 END)
         WHERE name IN ('id', 'floor', 'epoch', 'quarantined_until', 'longest_ttl_us'))
     + (SELECT count(*) FROM pragma_table_info(?4, CASE WHEN ?3 = '' THEN 'main' ELSE ?3 END)
         WHERE name IN ('namespace', 'name', 'id', 'since', 'seen_at'))
