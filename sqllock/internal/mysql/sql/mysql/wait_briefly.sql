-- Parameters: none.
-- Result: none.
-- Promise: for the session, until wait_as_before.sql: a statement waits for a row for a second at most. There is no hint for it.
SET @rowlock_lock_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1
