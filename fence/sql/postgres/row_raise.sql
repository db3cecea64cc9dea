-- Parameters: $1 key, $2 token, $3 the limit on idling in the transaction, in milliseconds.
-- Result: the row's new token, how many rows have the key, and the idle limit now in force. The result is empty if no row has that key, or if the row's token is larger.
-- Promise: no other transaction changes the row until this transaction ends. The row is written even if it already has the token: the database then rejects a waiting or later transaction with an older snapshot. A shorter idle limit of the caller stays in force. The key is compared with the = operator of its type, as in the caller's own statements.
UPDATE guarded_row AS r
   SET guarded_token = $2::bigint
 WHERE r.guarded_key = $1 AND (r.guarded_token IS NULL OR r.guarded_token::bigint <= $2::bigint)
RETURNING r.guarded_token::bigint,
       (SELECT count(*) FROM guarded_row AS o WHERE o.guarded_key = r.guarded_key),
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint::float8 * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END
