-- Parameters: how long to sleep, in seconds.
-- Result: one row with 0 after that time; one row with 1, or error 1317, if call.sql has ended the sleep.
-- Promise: reads no table, and is not ended by a limit of the server.
SET STATEMENT max_statement_time = 0 FOR
SELECT SLEEP(?)
