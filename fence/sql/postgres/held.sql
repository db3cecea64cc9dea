-- Parameters: $1 namespace, $2 name of the lock.
-- Result: token, nonce and state of the lock's lease; no row if the lock is not in this table. The state is 'live' or 'expired', or 'outdated' if the lease has expired in a snapshot of the whole transaction, which may be older than the last renewal.
-- Promise: reads only, and takes no locks: a renewal does not wait for the transaction.
SELECT l.token, l.nonce::text,
       CASE WHEN l.expires_at > clock_timestamp() THEN 'live'
            WHEN current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN 'outdated'
            ELSE 'expired' END AS state
  FROM rowlock_lease l
 WHERE l.namespace = $1::text AND l.name = $2::text
