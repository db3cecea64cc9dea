-- Parameters: the number of a connection, NULL when it has been ended.
-- Result: none.
-- Promise: changes nothing but a variable of this session.
SET @rowlock_connection = ?
