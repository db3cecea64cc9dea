-- Parameters: ?1 namespace, ?2 name of the lock.
-- Result: token, nonce and state of the lock's lease: 'live' or 'expired' now; no row if the lock is not in this table.
-- Promise: reads only. The check has taken the file's write lock, so nothing newer was committed.
SELECT l.token, l.nonce,
       CASE WHEN l.expires_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
            THEN 'live' ELSE 'expired' END AS state
  FROM rowlock_lease AS l
 WHERE l.namespace = ?1 AND l.name = ?2
