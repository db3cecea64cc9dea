-- Parameters: ?1 namespace, ?2 name, ?3 the waiter.
-- Result: none.
-- Promise: the time when the waiter was last seen becomes now. A waiter without a row gets a row, and its waiting time starts now. WHERE true keeps SQLite from reading ON as a part of a join.
INSERT INTO rowlock_lease_waiter AS w (namespace, name, id, since, seen_at)
SELECT ?1, ?2, ?3, c.now, c.now
  FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now) c
 WHERE true
    ON CONFLICT (namespace, name, id) DO UPDATE
   SET seen_at = excluded.seen_at
