-- Parameters: token, key.
-- Result: none; ignore the number of affected rows, because it depends on a flag of the connection.
-- Promise: changes the token only. The row is locked, and its token is known to be smaller.
UPDATE guarded_row AS r
   SET r.guarded_token = ?
 WHERE r.guarded_key = ?
