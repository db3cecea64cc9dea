-- Parameters: namespace, name in hexadecimal digits.
-- Result: one row a run or refusal, the newest first: started in microseconds since 1970, how long it took and waited before that in microseconds, outcome, exit code, token, holder, note, who had the lock.
-- Promise: reads only.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', started_at) AS started_us,
       TIMESTAMPDIFF(MICROSECOND, started_at, COALESCE(ended_at, started_at)) AS took_us,
       waited_us, outcome, COALESCE(exit_code, 0) AS exit_code, token, CAST(holder AS BINARY) AS holder, CAST(note AS BINARY) AS note, CAST(held_by AS BINARY) AS held_by
  FROM rowlock_lease_run
 WHERE namespace = UNHEX(?) AND name = UNHEX(?)
 ORDER BY started_at DESC, id
