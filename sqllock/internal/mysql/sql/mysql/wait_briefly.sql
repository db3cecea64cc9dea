-- Parameters: none.
-- Result: none.
-- Promise: for the session, until wait_as_before.sql: a statement waits for a row for a second at most. No hint of a statement can say so.
SET @rowlock_lock_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1
