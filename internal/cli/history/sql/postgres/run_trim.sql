-- Parameters: $1 namespace, $2 name, $3 zero to trim refusals, another number to trim runs, $4 how many are kept.
-- Result: none.
-- Promise: deletes all but the newest rows of that sort.
DELETE FROM rowlock_lease_run
 WHERE namespace = $1::text AND name = $2::text AND (token = 0) = ($3::bigint = 0)
   AND started_at < (SELECT r.started_at FROM rowlock_lease_run r
                      WHERE r.namespace = $1::text AND r.name = $2::text AND (r.token = 0) = ($3::bigint = 0)
                      ORDER BY r.started_at DESC LIMIT 1 OFFSET $4::bigint - 1)
