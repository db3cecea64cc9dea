-- Parameters: $1 the limit on a wait for a lock, and on idling in the transaction, in milliseconds.
-- Result: one row, to be ignored.
-- Promise: for the rest of the transaction, no statement waits for a lock longer than the limit. The server ends the transaction if its client idles longer than the limit, for example because it is suspended. The commit is durable before it is reported. A shorter idle limit of the caller stays in force.
SELECT set_config('lock_timeout', ($1::bigint)::text, true)
       || CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                    BETWEEN interval '1 microsecond' AND $1::bigint::float8 * interval '1 millisecond'
               THEN '' ELSE set_config('idle_in_transaction_session_timeout', ($1::bigint)::text, true) END,
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
