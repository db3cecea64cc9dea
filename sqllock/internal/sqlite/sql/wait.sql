-- Parameters: ?1 namespace; ?2 name; ?3 the id of the waiter.
-- Result: none.
-- Promise: records in the row that the waiter still waits now. If the waiter has no row, the statement inserts a row, and the waiting time starts now. Without WHERE true, SQLite would read ON as a part of a join.
INSERT INTO rowlock_lease_waiter AS w (namespace, name, id, since, seen_at)
SELECT ?1, ?2, ?3, c.now, c.now
  FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now) c
 WHERE true
    ON CONFLICT (namespace, name, id) DO UPDATE
   SET seen_at = excluded.seen_at
