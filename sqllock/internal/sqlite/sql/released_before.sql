-- Parameters: ?1 namespace; ?2 name; ?3 nonce; ?4 token.
-- Result: one row: 'again' if the lock's row still contains the grant or the share, 'released' if the grant with this token was released before or the share of this epoch has ended, else 'not held'.
-- Promise: reads only.
SELECT coalesce((
    SELECT CASE WHEN (nonce = ?3 OR json_type(readers, '$."' || ?3 || '"') IS NOT NULL) AND ?4 IN (0, token) THEN 'again'
                WHEN (nonce IS NULL OR readers IS NOT NULL) AND token = ?4 AND token > 0 THEN 'released'
                ELSE 'not held' END
      FROM rowlock_lease
     WHERE namespace = ?1 AND name = ?2), 'not held') AS verdict
