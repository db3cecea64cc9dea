-- Parameters: none.
-- Result: one row: the version of the server; the longest that this session waits for a row, that it waits for a table, and that it may idle, all in seconds.
-- Promise: reads only.
SELECT VERSION(), @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout, @@SESSION.wait_timeout
