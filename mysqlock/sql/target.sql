-- Parameters: the id of the connection that kill.sql will end, or NULL to clear the variable.
-- Result: none.
-- Promise: changes only a variable of this session.
SET @rowlock_connection = ?
