-- Parameters: none.
-- Result: none.
-- Promise: until wait_as_before.sql runs in the session, a statement waits for a row for at most a second. MySQL has no optimizer hint for this setting.
SET @rowlock_lock_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1
