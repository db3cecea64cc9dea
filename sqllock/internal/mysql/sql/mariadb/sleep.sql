-- Parameters: how long to sleep, in seconds.
-- Result: one row with 0 after that time; one row with 1, or error 1317, if call.sql has ended the sleep.
-- Promise: reads no table, and is not ended by a limit of the server. It waits for a replication position that no server reaches. SLEEP would not do: on MariaDB 10.11, KILL QUERY and SLEEP may block each other for two seconds, and meanwhile they block every other SLEEP of the server.
SET STATEMENT max_statement_time = 0 FOR
SELECT COALESCE(MASTER_GTID_WAIT('4294967295-1-18446744073709551615', ?), 0) <> -1
