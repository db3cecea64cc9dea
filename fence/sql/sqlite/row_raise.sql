-- Parameters: ?1 key, ?2 token.
-- Result: the row's new token, and how many rows have the key. The result is empty if no row has that key, or if the row's token is larger.
-- Promise: takes the file's write lock until the transaction ends. Columns are qualified, because SQLite reads an unknown name in double quotes as a text.
UPDATE guarded_row AS r
   SET guarded_token = ?2
 WHERE r.guarded_key = ?1 AND (r.guarded_token IS NULL OR CAST(r.guarded_token AS INTEGER) <= ?2)
RETURNING CAST(guarded_token AS INTEGER),
       (SELECT count(*) FROM guarded_row AS o WHERE o.guarded_key = ?1)
