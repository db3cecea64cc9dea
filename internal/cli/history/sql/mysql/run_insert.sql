-- Parameters: namespace, name in hexadecimal digits; id; how long ago it started in microseconds; 1 if it runs, 0 if it has ended; how long it waited before that; outcome; exit code, NULL if it runs; token; holder, note, other holder in hexadecimal digits.
-- Result: none.
-- Promise: adds one row, by the server's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (UNHEX(?), UNHEX(?), ?, UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND, CASE WHEN ? = 0 THEN UTC_TIMESTAMP(6) END, ?, ?, ?, ?,
        CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4))
