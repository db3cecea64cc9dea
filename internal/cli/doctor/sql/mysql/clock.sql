-- Parameters: none.
-- Result: the server's clock in microseconds since 1970.
-- Promise: reads only.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now_us
