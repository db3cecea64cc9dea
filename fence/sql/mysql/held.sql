-- Parameters: namespace, name of the lock, both in base64.
-- Result: token, nonce and state of its lease: 'live' now, or 'outdated' if the transaction sees it as expired: its snapshot may be older than the last renewal, and a session cannot ask for the isolation level; no row if the lock is not in this table.
-- Promise: reads only, and takes no locks except at SERIALIZABLE, where every read does.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, l.nonce, IF(l.expires_at > UTC_TIMESTAMP(6), 'live', 'outdated') AS state
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
