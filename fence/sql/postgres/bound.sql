-- Parameters: $1 the longest wait for a lock, and the longest that the transaction may idle, in milliseconds.
-- Result: one row, to be ignored.
-- Promise: for the rest of the transaction only: no statement waits longer for a lock, the server ends a transaction whose client was stopped, and the commit is on the disk when it is reported. A shorter limit of idling of the caller's own stays.
SELECT set_config('lock_timeout', ($1::bigint)::text, true)
       || CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                    BETWEEN interval '1 microsecond' AND $1::bigint::float8 * interval '1 millisecond'
               THEN '' ELSE set_config('idle_in_transaction_session_timeout', ($1::bigint)::text, true) END,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
