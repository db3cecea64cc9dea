-- Parameters: ?1 namespace; ?2 name; ?3 nonce and ?4 token of the grant; ?5 the nonce of the pause; ?6 the microseconds until the pause ends.
-- Result: one row if this grant was replaced by a pause, else no row. The row contains NULL, because the lock is reserved for no waiter.
-- Promise: replaces only this grant by a pause, and only if the grant has not expired.
WITH clock AS NOT MATERIALIZED (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
)
UPDATE rowlock_lease
   SET nonce = ?5,
       (expires_at, held_until) = (SELECT now + ?6, now + ?6 FROM clock)
 WHERE namespace = ?1 AND name = ?2 AND token = ?4
   AND (nonce = ?3 AND expires_at > (SELECT now FROM clock) OR nonce = ?5)
RETURNING reserved_for
