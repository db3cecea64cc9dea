-- Parameters: none.
-- Result: one row: the version of the server, which contains "MariaDB" on MariaDB; 1 if a time-out while waiting for a row undoes the whole transaction, else 0; the character set of the session's literals.
-- Promise: reads only.
SELECT VERSION(), @@innodb_rollback_on_timeout, @@character_set_connection
