-- Parameters: none.
-- Result: none.
-- Promise: the session reads the definition of a trigger, and keeps with it, what this library means. It is closed afterwards.
SET SESSION sql_mode = _utf8mb4'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', SESSION collation_connection = _utf8mb4'utf8mb4_bin', SESSION sql_big_selects = 1
