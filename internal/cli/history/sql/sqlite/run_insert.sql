-- Parameters: ?1 namespace, ?2 name, ?3 id, ?4 how many microseconds ago the run started, ?5 1 if the run has not ended, else 0, ?6 how long the run had waited before its start, in microseconds, ?7 outcome, ?8 exit code, or NULL if the run has not ended, ?9 token, ?10 holder, ?11 note, ?12 for a refusal: the holder that had the lock.
-- Result: none.
-- Promise: inserts one row, with times of the machine's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (?1, ?2, ?3, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?4,
        CASE WHEN ?5 = 0 THEN CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 END, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
