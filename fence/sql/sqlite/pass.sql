-- Parameters: ?1 nonce of the checked lease.
-- Result: none.
-- Promise: the protected tables accept the lease's writes until the row is deleted or the transaction rolls back.
INSERT OR IGNORE INTO rowlock_lease_fence_pass (nonce) VALUES (?1)
