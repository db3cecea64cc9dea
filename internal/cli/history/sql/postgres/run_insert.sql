-- Parameters: $1 namespace, $2 name, $3 id, $4 how long ago it started in microseconds, $5 1 if it runs, 0 if it has ended, $6 how long it waited before that, $7 outcome, $8 exit code, NULL if it runs, $9 token, $10 holder, $11 note, $12 the other holder of a refusal.
-- Result: none.
-- Promise: adds one row, by the server's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES ($1::text, $2::text, $3::uuid, clock_timestamp() - $4::bigint::float8 * interval '1 microsecond', CASE WHEN $5::bigint = 0 THEN clock_timestamp() END, $6::bigint,
        $7::text, $8::integer, $9::bigint, $10::text, $11::text, $12::text)
