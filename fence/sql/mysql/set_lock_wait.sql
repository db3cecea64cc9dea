-- Parameters: the longest wait for a row, the longest wait for a table, and the longest that the session may idle before the server ends it, all in seconds.
-- Result: none.
-- Promise: for the session, until they are set again: there is no setting for a transaction.
SET SESSION innodb_lock_wait_timeout = ?, SESSION lock_wait_timeout = ?, SESSION wait_timeout = ?
