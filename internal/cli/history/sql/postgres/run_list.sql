-- Parameters: $1 namespace, $2 name.
-- Result: one row for each run or refusal, the newest first: its start in microseconds since 1970, its duration in microseconds, how long it had waited in microseconds, outcome, exit code, token, holder, note, and for a refusal the holder that had the lock.
-- Promise: reads only.
SELECT (extract(epoch FROM started_at)::float8 * 1e6::float8)::bigint AS started_us,
       (extract(epoch FROM COALESCE(ended_at, started_at) - started_at)::float8 * 1e6::float8)::bigint AS took_us,
       waited_us, outcome, COALESCE(exit_code, 0) AS exit_code, token, holder, note, held_by
  FROM rowlock_lease_run
 WHERE namespace = $1::text AND name = $2::text
 ORDER BY started_at DESC, id
