-- Parameters: none.
-- Result: one row: the run of the server: the server and the second in which it was started; the next UUID_SHORT without the server's id; the server's clock in microseconds since 1970.
-- Promise: reads only. The second of the start is the same for every session of a run, also if the clock was set since: both terms are from the same reading of the clock. UUID_SHORT begins with that second.
SELECT CONCAT(@@hostname, ':', @@port, ' ', @@server_id, ' ', UNIX_TIMESTAMP() - CAST(s.VARIABLE_VALUE AS SIGNED)) AS run,
       UUID_SHORT() & 0x00FFFFFFFFFFFFFF AS number,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS clock
  FROM /*!80000 performance_schema.global_status *//*M! information_schema.GLOBAL_STATUS */ AS s
 WHERE s.VARIABLE_NAME = 'Uptime'
