-- Parameters: $1 the longest wait for a lock, in milliseconds.
-- Result: one row, to be ignored.
-- Promise: for the rest of the transaction only: no statement waits longer for a lock, and the commit is on the disk when it is reported.
SELECT set_config('lock_timeout', ($1::bigint)::text, true),
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
