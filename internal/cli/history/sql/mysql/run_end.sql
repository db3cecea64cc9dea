-- Parameters: outcome, exit code, namespace, name in hexadecimal digits, id.
-- Result: none; no row is changed if the start of the run was not recorded.
-- Promise: sets the end of one run, with the time of the server's clock; changes no lock.
UPDATE rowlock_lease_run SET ended_at = UTC_TIMESTAMP(6), outcome = ?, exit_code = ?
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND id = ?
