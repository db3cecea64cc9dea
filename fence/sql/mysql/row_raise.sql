-- Parameters: token, key.
-- Result: none; ignore the number of affected rows, because it depends on a flag of the connection.
-- Promise: changes the token only. The caller has locked the row, and has seen that its token is smaller.
UPDATE guarded_row AS r
   SET r.guarded_token = ?
 WHERE r.guarded_key = ?
