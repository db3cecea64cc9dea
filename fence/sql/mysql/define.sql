-- Parameters: none.
-- Result: none.
-- Promise: the server parses and stores the triggers that this session defines with these settings. The library closes the session afterwards.
SET SESSION sql_mode = _utf8mb4'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', SESSION collation_connection = _utf8mb4'utf8mb4_bin', SESSION sql_big_selects = 1
