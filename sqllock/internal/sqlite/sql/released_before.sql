-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 token.
-- Result: one row: 'released' if the grant with this token was released before, 'again' if the lock's row still contains the grant, else 'not held'.
-- Promise: reads only.
SELECT coalesce((
    SELECT CASE WHEN nonce IS NULL AND token = ?4 AND token > 0 THEN 'released'
                WHEN nonce = ?3 AND ?4 IN (0, token) THEN 'again'
                ELSE 'not held' END
      FROM rowlock_lease
     WHERE namespace = ?1 AND name = ?2), 'not held') AS verdict
