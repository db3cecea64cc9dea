-- Parameters: $1 key, $2 token, $3 the longest that the transaction may idle, in milliseconds.
-- Result: the row's token as it is now, how many rows have the key, and the limit now in force; no row if there is none with that key, or a newer token in it.
-- Promise: nobody else changes the row before the transaction ends. The row is written even if it has the token already: a transaction with an older snapshot that waits for this one, or comes after it, is then refused by the database. A shorter limit of the caller's own stays. The key is compared by the = of its type, as the caller's own statements do it.
UPDATE guarded_row AS r
   SET guarded_token = $2::bigint
 WHERE r.guarded_key = $1 AND (r.guarded_token IS NULL OR r.guarded_token::bigint <= $2::bigint)
RETURNING r.guarded_token::bigint,
       (SELECT count(*) FROM guarded_row AS o WHERE o.guarded_key = r.guarded_key),
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint::float8 * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END
