-- Parameters: namespace, name of the lock, both in base64.
-- Result: token, nonce and state of its lease: 'live' now, or 'outdated' if the transaction sees it as expired, which may be in a snapshot that is older than a renewal (what the level is, a session cannot ask); no row if the lock is not in this table.
-- Promise: reads only, and locks nothing but at SERIALIZABLE, where every read does.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       l.token, l.nonce, IF(l.expires_at > UTC_TIMESTAMP(6), 'live', 'outdated') AS state
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
