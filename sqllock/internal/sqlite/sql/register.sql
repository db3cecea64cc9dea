-- Parameters: ?1 namespace, ?2 name, ?3 the waiter.
-- Result: none.
-- Promise: the waiter was seen now; if it was not there, it waits since now.
INSERT INTO rowlock_lease_waiter AS w (namespace, name, id, since, seen_at)
VALUES (?1, ?2, ?3, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    ON CONFLICT (namespace, name, id) DO UPDATE
   SET seen_at = excluded.seen_at
