-- Parameters: $1 a random text, or an empty one to delete the trace.
-- Result: one row: the id of the server process, and the text.
-- Promise: sets one session variable that only this package reads.
SELECT pg_backend_pid() AS pid, set_config('rowlock.session', $1::text, false) AS trace
