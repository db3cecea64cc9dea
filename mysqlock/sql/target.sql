-- Parameters: the id of a connection, or NULL after it has been ended.
-- Result: none.
-- Promise: changes only a variable of this session.
SET @rowlock_connection = ?
