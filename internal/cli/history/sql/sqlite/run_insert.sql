-- Parameters: ?1 namespace, ?2 name, ?3 id, ?4 how long ago it started in microseconds, ?5 1 if it runs, 0 if it has ended, ?6 how long it waited before that, ?7 outcome, ?8 exit code, NULL if it runs, ?9 token, ?10 holder, ?11 note, ?12 the other holder of a refusal.
-- Result: none.
-- Promise: adds one row, by the machine's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (?1, ?2, ?3, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?4,
        CASE WHEN ?5 = 0 THEN CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 END, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
