-- Parameters: $1 the value of lock_timeout.
-- Result: one row: the new value of lock_timeout.
-- Promise: sets lock_timeout until the end of the transaction.
SELECT set_config('lock_timeout', $1::text, true)
