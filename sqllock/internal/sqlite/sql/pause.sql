-- Parameters: ?1 namespace, ?2 name; of the grant: ?3 nonce, ?4 token; ?5 the nonce of the pause, ?6 when it ends in microseconds.
-- Result: one row if this grant is a pause now, else none: the waiter that the lock is reserved for, which is NULL.
-- Promise: makes a pause of this grant only, and never of one that has expired.
UPDATE rowlock_lease
   SET nonce = ?5,
       expires_at = c.now + ?6,
       held_until = c.now + ?6
  FROM (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now) c
 WHERE namespace = ?1 AND name = ?2 AND token = ?4
   AND (nonce = ?3 AND expires_at > c.now OR nonce = ?5)
RETURNING reserved_for
