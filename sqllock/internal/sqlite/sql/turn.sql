-- Parameters: ?1 namespace; ?2 name; ?3 the id of the waiter.
-- Result: one row if the lock looks free or is reserved for this waiter, else no row.
-- Promise: reads only one row, because it runs after every change of the file.
SELECT 1
 WHERE NOT EXISTS (
    SELECT 1
      FROM rowlock_lease
     WHERE namespace = ?1 AND name = ?2
       AND held_until > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
       AND (nonce IS NOT NULL OR reserved_for IS NOT ?3))
