-- Parameters: none.
-- Result: the server's clock in microseconds since 1970.
-- Promise: reads only.
SELECT (extract(epoch FROM clock_timestamp())::float8 * 1e6::float8)::bigint AS now_us
