-- Parameters: ?1 namespace; ?2 name.
-- Result: one row, 'locked', if the lock is free, else no row.
-- Promise: keeps the file's write lock until the end of the transaction. If the lock has no row, the statement inserts a row without a grant. Without WHERE true, SQLite would read ON as a part of a join.
INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT ?1, ?2, 0, NULL, '', '', c.now, c.now, 0
  FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now) c
 WHERE true
    ON CONFLICT (namespace, name) DO UPDATE
   SET holder = l.holder
 WHERE l.held_until <= excluded.acquired_at
RETURNING 'locked'
