-- Parameters: none.
-- Result: none.
-- Promise: with these settings the server can parse the triggers that this session creates. The server stores some of the settings with each trigger. The library closes the session afterwards.
SET SESSION sql_mode = _utf8mb4'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', SESSION collation_connection = _utf8mb4'utf8mb4_bin', SESSION sql_big_selects = 1
