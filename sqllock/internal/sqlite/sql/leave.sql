-- Parameters: ?1 namespace; ?2 name; ?3 the id of the waiter.
-- Result: none.
-- Promise: deletes the waiter's row, so that no later release reserves the lock for this waiter.
DELETE FROM rowlock_lease_waiter WHERE namespace = ?1 AND name = ?2 AND id = ?3
