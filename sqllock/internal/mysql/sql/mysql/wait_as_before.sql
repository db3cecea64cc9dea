-- Parameters: none.
-- Result: none.
-- Promise: restores the setting that wait_briefly.sql has found in this session.
SET SESSION innodb_lock_wait_timeout = @rowlock_lock_wait
