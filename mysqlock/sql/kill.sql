-- Parameters: none; target.sql has chosen the connection.
-- Result: none.
-- Promise: ends only that connection, and with it all its locks, once the server notices. MySQL accepts no parameter in KILL.
KILL CONNECTION @rowlock_connection
