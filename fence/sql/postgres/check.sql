-- Parameters: $1 namespace, $2 resource, $3 the longest that the transaction may idle, in milliseconds, $4 nonce of the lease.
-- Result: token and nonce of the mark, the limit now in force, and the nonces of the leases that this transaction has checked, for the triggers of protected tables; no row if the resource was never sealed.
-- Promise: nobody changes the mark before the transaction ends. FOR SHARE is the weakest lock that promises it: FOR KEY SHARE does not conflict with an update of the token. A shorter limit of the caller's own stays.
SELECT f.token, f.nonce::text,
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END,
       CASE WHEN $4::text = ANY (string_to_array(current_setting('rowlock.nonces', true), ' '))
            THEN current_setting('rowlock.nonces')
            ELSE set_config('rowlock.nonces', concat_ws(' ', NULLIF(current_setting('rowlock.nonces', true), ''), $4::text), true) END
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   FOR SHARE
