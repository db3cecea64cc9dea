-- Parameters: $1 namespace, $2 resource, $3 the longest that the transaction may idle, in milliseconds.
-- Result: token and nonce of the mark, and the limit now in force; no row if the resource was never sealed.
-- Promise: nobody changes the mark before the transaction ends. FOR SHARE is the weakest lock that promises it: FOR KEY SHARE does not conflict with an update of the token. A shorter limit of the caller's own stays.
SELECT f.token, f.nonce::text,
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   FOR SHARE
