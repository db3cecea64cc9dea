-- Parameters: ?1 namespace; ?2 name. Of the grant that ends: ?3 nonce; ?4 token; ?5 minimum hold in microseconds. Of the grant that begins: ?6 nonce; ?7 holder; ?8 note; ?9 TTL, ?10 minimum hold and ?11 hand-over delay, all three in microseconds.
-- Result: one row with the token if the lock was handed over, else no row. In that case hand_over_refused.sql reads the reason.
-- Promise: ends the old grant and makes the new grant, with a larger token, or changes nothing. It is one statement that needs no transaction around it.
UPDATE rowlock_lease
   SET token = CASE WHEN nonce = ?6 THEN token ELSE max(token + 1, m.floor + 1, m.now) END,
       nonce = ?6,
       holder = ?7,
       note = ?8,
       acquired_at = CASE WHEN nonce = ?6 THEN acquired_at ELSE m.now END,
       expires_at = m.now + ?9,
       held_until = max(m.now + ?9 + ?11, CASE WHEN nonce = ?6 THEN acquired_at ELSE m.now END + ?10)
  FROM (SELECT floor, quarantined_until, longest_ttl_us,
               CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
          FROM rowlock_lease_meta
         WHERE id = 1 AND epoch = 'sqlite') m
 WHERE namespace = ?1 AND name = ?2
   AND m.quarantined_until <= m.now
   AND m.longest_ttl_us >= max(?9 + ?11, ?10)
   AND (nonce = ?6
        OR nonce = ?3 AND token = ?4 AND expires_at > m.now AND acquired_at + ?5 <= m.now)
RETURNING token
