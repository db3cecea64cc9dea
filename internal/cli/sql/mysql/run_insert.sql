-- Parameters: namespace, name in hexadecimal digits; id; how long it took in microseconds; how long it waited before that; outcome; exit code; token; holder, note, who had the lock in hexadecimal digits.
-- Result: none.
-- Promise: adds one row, by the server's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES (UNHEX(?), UNHEX(?), ?, UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND, UTC_TIMESTAMP(6), ?, ?, ?, ?,
        CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4), CONVERT(UNHEX(?) USING utf8mb4))
