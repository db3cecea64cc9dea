-- Parameters: none; 'rowlock namespace', 'rowlock resource' and 'rowlock nonce' are replaced by quoted texts.
-- Result: none.
-- Promise: fails unless the lease was the last to seal the resource. The transaction already has the file's write lock.
INSERT INTO rowlock_check (namespace, resource, nonce) VALUES ('rowlock namespace', 'rowlock resource', 'rowlock nonce')
