-- Parameters: ?1 nonce of the lease that has passed a check.
-- Result: none.
-- Promise: the protected tables let the lease pass until the row is deleted or the transaction is rolled back.
INSERT OR IGNORE INTO rowlock_lease_fence_pass (nonce) VALUES (?1)
