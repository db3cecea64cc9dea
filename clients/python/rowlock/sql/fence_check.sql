-- Parameters: $1 namespace, $2 resource, $3 the limit on idling in the transaction, in milliseconds, $4 nonce of the lease, $5 is 1 if the transaction itself has raised the mark, else 0.
-- Result: token and nonce of the mark, the idle limit now in force, and the nonces of the leases that this transaction has checked. The triggers of protected tables read these nonces. The result is empty if the resource was never sealed, or if a newer lease waits for the advisory lock to raise the mark.
-- Promise: no other transaction changes the mark until this transaction ends. The transaction takes the mark's advisory lock in shared mode. If it cannot, the result has no row. So a waiting seal, which takes that lock in exclusive mode, never waits for a later check. With row locks alone, the server would grant the later check first. FOR SHARE is the weakest row lock that suffices: FOR KEY SHARE does not conflict with an update of the token. A shorter limit of the caller stays in force.
SELECT f.token, f.nonce::text,
       CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
                 BETWEEN interval '1 microsecond' AND $3::bigint::float8 * interval '1 millisecond'
            THEN current_setting('idle_in_transaction_session_timeout')
            ELSE set_config('idle_in_transaction_session_timeout', ($3::bigint)::text, true) END,
       CASE WHEN $4::text = ANY (string_to_array(current_setting('rowlock.nonces', true), ' '))
            THEN current_setting('rowlock.nonces')
            ELSE set_config('rowlock.nonces', pg_catalog.concat_ws(' ', NULLIF(current_setting('rowlock.nonces', true), ''), $4::text), true) END
  FROM rowlock_lease_fence f
 WHERE f.namespace = $1::text AND f.resource = $2::text
   AND ($5::bigint OPERATOR(pg_catalog.=) 1 OR pg_catalog.pg_try_advisory_xact_lock_shared(pg_catalog.hashtextextended(
           $2::text COLLATE pg_catalog."C",
           pg_catalog.hashtextextended($1::text COLLATE pg_catalog."C", 'rowlock_lease_fence'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8))))
   FOR SHARE
