-- Parameters: $1 outcome, $2 exit code, $3 namespace, $4 name, $5 id.
-- Result: none; no row is changed if the start of the run was not recorded.
-- Promise: sets the end of one run, with the time of the server's clock; changes no lock. The commit needs no flush: after a crash of the server, the run may look unfinished.
UPDATE rowlock_lease_run SET ended_at = clock_timestamp(), outcome = $1::text, exit_code = $2::integer
  FROM (SELECT set_config('synchronous_commit', 'off', true)) unflushed
 WHERE namespace = $3::text AND name = $4::text AND id = $5::uuid
