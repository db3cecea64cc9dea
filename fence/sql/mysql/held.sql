-- Parameters: namespace, name of the lock, both in base64.
-- Result: token, nonce and state of the lock's lease; no row if the lock is not in this table. The state is 'live', or 'outdated' if the lease has expired in the transaction's snapshot. That snapshot may be older than the last renewal, and a session cannot query its isolation level.
-- Promise: reads only, and takes no locks except at SERIALIZABLE, where every read does.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, l.nonce, IF(l.expires_at > UTC_TIMESTAMP(6), 'live', 'outdated') AS state
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
