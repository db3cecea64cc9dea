-- Parameters: $1 namespace; $2 name; $3 nonce; $4 token.
-- Result: one row: 'released' if the grant with this token was released before, 'again' if the lock's row still contains the grant, else 'not held'.
-- Promise: reads only.
SELECT coalesce((
    SELECT CASE WHEN nonce IS NULL AND token = $4::bigint AND token > 0 THEN 'released'
                WHEN nonce = $3::text::uuid AND $4::bigint IN (0, token) THEN 'again'
                ELSE 'not held' END
      FROM rowlock_lease
     WHERE namespace = $1::text AND name = $2::text), 'not held') AS verdict
