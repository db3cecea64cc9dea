-- Parameters: $1 the value.
-- Result: one row: the value.
-- Promise: applies to the rest of the transaction only.
SELECT set_config('lock_timeout', $1::text, true)
