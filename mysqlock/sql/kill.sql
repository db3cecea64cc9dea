-- Parameters: none; target.sql has chosen the connection.
-- Result: none.
-- Promise: ends only that connection and releases its locks, possibly a moment after the statement returns. The id is in a variable because MySQL accepts no parameter in KILL.
KILL CONNECTION @rowlock_connection
