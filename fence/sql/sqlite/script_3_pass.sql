-- Parameters: none; 'rowlock nonce' is replaced by a quoted text.
-- Result: none.
-- Promise: takes the file's write lock, so that no other process can seal before this transaction ends. The protected tables accept the lease's writes until the row is deleted or the transaction rolls back.
INSERT OR IGNORE INTO rowlock_lease_fence_pass (nonce) VALUES ('rowlock nonce')
