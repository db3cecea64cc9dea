-- Parameters: ?1 namespace, ?2 name.
-- Result: one row, 'locked', if no grant or reservation holds the lock, else none.
-- Promise: takes the file's write lock to the end of the transaction; creates a row that was never granted if there is none. WHERE true keeps SQLite from reading ON as a part of a join.
INSERT INTO rowlock_lease AS l (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT ?1, ?2, 0, NULL, '', '', c.now, c.now, 0
  FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now) c
 WHERE true
    ON CONFLICT (namespace, name) DO UPDATE
   SET holder = l.holder
 WHERE l.held_until <= excluded.acquired_at
RETURNING 'locked'
