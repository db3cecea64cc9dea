-- Parameters: none. Result: one row: a name, and the TLS version of this session. The version is empty without TLS.
-- Promise: reads only.
SHOW SESSION STATUS LIKE 'Ssl_version'
