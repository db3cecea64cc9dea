-- Parameters: none.
-- Result: none.
-- Promise: restores the innodb_lock_wait_timeout that the session had before wait_briefly.sql.
SET SESSION innodb_lock_wait_timeout = @rowlock_lock_wait
