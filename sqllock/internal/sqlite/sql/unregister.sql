-- Parameters: ?1 namespace, ?2 name, ?3 the waiter.
-- Result: none.
-- Promise: nothing is kept for this waiter any more, but for what is kept already.
DELETE FROM rowlock_lease_waiter WHERE namespace = ?1 AND name = ?2 AND id = ?3
