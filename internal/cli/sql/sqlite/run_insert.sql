-- Parameters: ?1 namespace, ?2 name, ?3 id, ?4 how long it took in microseconds, ?5 how long it waited before that, ?6 outcome, ?7 exit code, ?8 token, ?9 holder, ?10 note, ?11 who had the lock.
-- Result: none.
-- Promise: adds one row, by the machine's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (?1, ?2, ?3, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?4,
        CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
