-- Parameters: namespace, name in hexadecimal digits.
-- Result: one row for each run or refusal, the newest first: its start in microseconds since 1970, its duration in microseconds, how long it had waited in microseconds, outcome, exit code, token, holder, note, and for a refusal the holder that had the lock.
-- Promise: reads only.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', started_at) AS started_us,
       TIMESTAMPDIFF(MICROSECOND, started_at, COALESCE(ended_at, started_at)) AS took_us,
       waited_us, outcome, COALESCE(exit_code, 0) AS exit_code, token, CAST(holder AS BINARY) AS holder, CAST(note AS BINARY) AS note, CAST(held_by AS BINARY) AS held_by
  FROM rowlock_lease_run
 WHERE namespace = UNHEX(?) AND name = UNHEX(?)
 ORDER BY started_at DESC, id
