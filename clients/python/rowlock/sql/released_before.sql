-- Parameters: $1 namespace; $2 name; $3 nonce; $4 token.
-- Result: one row: 'released' if the grant with this token was released before, or if it is a share that has ended and its epoch token is the lock's newest token; 'again' if the lock's row still contains the grant, else 'not held'.
-- Promise: reads only.
SELECT coalesce((
    SELECT CASE WHEN nonce IS NULL AND token = $4::bigint AND token > 0 THEN 'released'
                WHEN (nonce = $3::text::uuid OR readers ->> $3::text IS NOT NULL) AND $4::bigint IN (0, token) THEN 'again'
                WHEN readers IS NOT NULL AND token = $4::bigint THEN 'released'
                ELSE 'not held' END
      FROM rowlock_lease
     WHERE namespace = $1::text AND name = $2::text), 'not held') AS verdict
