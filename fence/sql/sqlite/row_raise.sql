-- Parameters: ?1 key, ?2 token.
-- Result: the row's token as it is now, and how many rows have the key; no row if there is none with that key, or a newer token in it.
-- Promise: takes the file's write lock to the end of the transaction. Columns are qualified, because SQLite takes an unknown name in double quotes for a text.
UPDATE guarded_row AS r
   SET guarded_token = ?2
 WHERE r.guarded_key = ?1 AND (r.guarded_token IS NULL OR CAST(r.guarded_token AS INTEGER) <= ?2)
RETURNING CAST(guarded_token AS INTEGER),
       (SELECT count(*) FROM guarded_row AS o WHERE o.guarded_key = ?1)
