-- Parameters: the limits on a wait for a row, on a wait for a table, and on idling before the server ends the session, in seconds.
-- Result: none.
-- Promise: the limits apply to the session until they are set again, because MySQL has no such setting for one transaction.
SET SESSION innodb_lock_wait_timeout = ?, SESSION lock_wait_timeout = ?, SESSION wait_timeout = ?
