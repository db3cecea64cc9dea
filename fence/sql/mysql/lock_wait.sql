-- Parameters: none.
-- Result: one row: the longest that this session waits for a lock, and that it may idle, both in seconds.
-- Promise: reads only.
SELECT @@SESSION.innodb_lock_wait_timeout, @@SESSION.wait_timeout
