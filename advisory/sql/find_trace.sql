-- Parameters: none.
-- Result: one row: the id of the server process, and the text that leave_trace.sql left in this session, or an empty text.
-- Promise: reads only.
SELECT pg_backend_pid() AS pid, coalesce(current_setting('rowlock.session', true), '') AS trace
