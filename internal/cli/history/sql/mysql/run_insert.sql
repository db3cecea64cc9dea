-- Parameters: namespace, name in hexadecimal digits; id; how many microseconds ago the run started; 1 if the run has not ended, else 0; how long the run had waited before its start, in microseconds; outcome; exit code, or NULL if the run has not ended; token; holder, note, and for a refusal the holder that had the lock, in hexadecimal digits.
-- Result: none.
-- Promise: inserts one row, with times of the server's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (UNHEX(?), UNHEX(?), ?, UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND, CASE WHEN ? = 0 THEN UTC_TIMESTAMP(6) END, ?, ?, ?, ?,
        CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4))
