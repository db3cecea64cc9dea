-- Parameters: ?1 outcome, ?2 exit code, ?3 namespace, ?4 name, ?5 id.
-- Result: none; no row is changed if the start of the run was not recorded.
-- Promise: sets the end of one run, with the time of the machine's clock; changes no lock.
UPDATE rowlock_lease_run SET ended_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, outcome = ?1, exit_code = ?2
 WHERE namespace = ?3 AND name = ?4 AND id = ?5
