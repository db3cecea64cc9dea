-- Parameters: none.
-- Result: one row: the version of the server; the session's limits on a wait for a row, on a wait for a table, and on idling, in seconds.
-- Promise: reads only.
SELECT VERSION(), @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout, @@SESSION.wait_timeout
