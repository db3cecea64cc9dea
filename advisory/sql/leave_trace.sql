-- Parameters: $1 a random text, empty to take the trace back.
-- Result: one row: the server process, and the text.
-- Promise: sets one session variable that nobody else reads.
SELECT pg_backend_pid() AS pid, set_config('rowlock.session', $1::text, false) AS trace
