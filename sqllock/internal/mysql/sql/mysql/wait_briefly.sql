-- Parameters: none.
-- Result: none.
-- Promise: a statement in this session waits for a locked row for at most one second, until wait_as_before.sql runs. MySQL has no optimizer hint for this setting.
SET @rowlock_lock_wait = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1
