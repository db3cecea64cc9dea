-- Parameters: $1 namespace, $2 name, $3 zero to delete refusals or another number to delete runs, $4 the number of rows to keep.
-- Result: none.
-- Promise: deletes the oldest refusals or runs of the lock, so that only the newest remain. The commit needs no flush.
DELETE FROM rowlock_lease_run
 USING (SELECT set_config('synchronous_commit', 'off', true)) unflushed
 WHERE namespace = $1::text AND name = $2::text AND (token = 0) = ($3::bigint = 0)
   AND started_at < (SELECT r.started_at FROM rowlock_lease_run r
                      WHERE r.namespace = $1::text AND r.name = $2::text AND (r.token = 0) = ($3::bigint = 0)
                      ORDER BY r.started_at DESC LIMIT 1 OFFSET $4::bigint - 1)
