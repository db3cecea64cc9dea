-- Parameters: how long to sleep, in seconds.
-- Result: one row with 0 after that time; one row with 1, or error 1317, if call.sql has ended the sleep.
-- Promise: reads no table, and is not ended by a limit of the server.
SELECT /*+ SET_VAR(max_execution_time = 0) */ SLEEP(?)
