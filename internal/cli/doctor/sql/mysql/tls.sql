-- Parameters: none.
-- Result: one row of a name and a value: the version of TLS of this session; empty without TLS.
-- Promise: reads only.
SHOW SESSION STATUS LIKE 'Ssl_version'
