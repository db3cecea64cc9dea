-- Parameters: $1 the value of lock_timeout.
-- Result: one row: that value.
-- Promise: sets lock_timeout until the end of the transaction.
SELECT set_config('lock_timeout', $1::text, true)
