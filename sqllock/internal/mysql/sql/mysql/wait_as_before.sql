-- Parameters: none.
-- Result: none.
-- Promise: puts back what wait_briefly.sql has found in this session.
SET SESSION innodb_lock_wait_timeout = @rowlock_lock_wait
