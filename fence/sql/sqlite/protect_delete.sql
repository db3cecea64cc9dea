-- Parameters: none; 'rowlock namespace' and 'rowlock resource' are replaced by the quoted names.
-- Result: none.
-- Promise: a transaction may delete a row only after a check. The lease that the transaction checked must be the one that sealed the resource last. The writer has the file's write lock, so no other process can seal meanwhile.
CREATE TRIGGER rowlock_protected_fence_delete BEFORE DELETE ON rowlock_protected
BEGIN
    SELECT CASE WHEN EXISTS (SELECT 1 FROM rowlock_lease_fence_pass AS p WHERE p.nonce IS NOT NULL)
                THEN RAISE(ABORT, 'rowlock: DELETE refused: the lease that the transaction has checked is not the one that sealed last')
                ELSE RAISE(ABORT, 'rowlock: DELETE refused: the transaction has passed no check') END
     WHERE NOT EXISTS (SELECT 1 FROM rowlock_lease_fence_pass AS p
                        WHERE p.why IS NOT NULL
                           OR p.nonce = (SELECT f.nonce FROM rowlock_lease_fence AS f
                                          WHERE f.namespace = 'rowlock namespace' AND f.resource = 'rowlock resource'));
END
