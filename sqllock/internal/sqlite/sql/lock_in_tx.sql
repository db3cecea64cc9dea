-- Parameters: ?1 namespace, ?2 name.
-- Result: one row, 'locked', if nobody holds the lock, else none.
-- Promise: takes the file's write lock to the end of the transaction; creates a row that was never granted if there is none.
INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
VALUES (?1, ?2, 0, NULL, '', '', CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, 0)
    ON CONFLICT (namespace, name) DO UPDATE
   SET holder = l.holder
 WHERE l.held_until <= excluded.acquired_at
RETURNING 'locked'
