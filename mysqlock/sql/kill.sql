-- Parameters: none; target.sql has chosen the connection.
-- Result: none.
-- Promise: ends that connection and no other, and with it every lock that lives on it; not before the server notices. MySQL takes no parameter here.
KILL CONNECTION @rowlock_connection
