-- Parameters: $1 namespace, $2 name, $3 id, $4 how many microseconds ago the run started, $5 1 if the run has not ended, else 0, $6 how long the run had waited before its start, in microseconds, $7 outcome, $8 exit code, or NULL if the run has not ended, $9 token, $10 holder, $11 note, $12 for a refusal: the holder that had the lock.
-- Result: none.
-- Promise: inserts one row, with times of the server's clock; changes no lock. The commit needs no flush: a crash of the server may lose the last runs.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
SELECT $1::text, $2::text, $3::uuid, clock_timestamp() - $4::bigint::float8 * interval '1 microsecond', CASE WHEN $5::bigint = 0 THEN clock_timestamp() END, $6::bigint,
       $7::text, $8::integer, $9::bigint, $10::text, $11::text, $12::text
  FROM (SELECT set_config('synchronous_commit', 'off', true)) unflushed
