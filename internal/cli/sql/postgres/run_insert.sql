-- Parameters: $1 namespace, $2 name, $3 id, $4 how long it took in microseconds, $5 how long it waited before that, $6 outcome, $7 exit code, $8 token, $9 holder, $10 note, $11 who had the lock.
-- Result: none.
-- Promise: adds one row, by the server's clock; changes no lock.
INSERT INTO rowlock_lease_run (namespace, name, id, started_at, ended_at, waited_us, outcome, exit_code, token, holder, note, held_by)
VALUES ($1::text, $2::text, $3::uuid, clock_timestamp() - $4::bigint * interval '1 microsecond', clock_timestamp(), $5::bigint,
        $6::text, $7::integer, $8::bigint, $9::text, $10::text, $11::text)
