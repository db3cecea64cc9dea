-- Parameters: ?1 namespace; ?2 name; ?3 the id of the waiter.
-- Result: one row if the lock looks free, is reserved for this waiter, or is shared and no waiter for an exclusive grant has claimed it, else no row.
-- Promise: reads only one row, because it runs after every change of the file. If the lock is shared, a reader can join, and a waiter for an exclusive grant can claim the lock with reserve_for_writer.sql.
SELECT 1
 WHERE NOT EXISTS (
    SELECT 1
      FROM rowlock_lease
     WHERE namespace = ?1 AND name = ?2
       AND held_until > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
       AND (nonce IS NULL AND reserved_for IS NOT ?3
            OR nonce IS NOT NULL AND (readers IS NULL OR writer_until > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)))
