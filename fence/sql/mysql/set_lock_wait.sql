-- Parameters: the longest wait for a lock, in seconds.
-- Result: none.
-- Promise: for the session, until it is set again: there is no setting for a transaction.
SET SESSION innodb_lock_wait_timeout = ?
