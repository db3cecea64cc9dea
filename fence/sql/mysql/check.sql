-- Parameters: namespace, resource; namespace, resource again; all in base64.
-- Result: the token and nonce of the newest mark, and the token and nonce of the mark in the transaction's snapshot (NULL if the snapshot has no mark). The result is empty if the resource was never sealed.
-- Promise: no other transaction changes the mark until this transaction ends. The lock is LOCK IN SHARE MODE, because MariaDB does not support FOR SHARE. The subquery reads without a lock, and so sees the snapshot: a mark that differs from the newest mark shows that the transaction began to read before the seal.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       f.token, f.nonce, s.token, s.nonce
  FROM rowlock_lease_fence AS f
  LEFT JOIN (SELECT o.namespace, o.resource, o.token, o.nonce
               FROM rowlock_lease_fence AS o
              WHERE o.namespace = FROM_BASE64(?) AND o.resource = FROM_BASE64(?)
              LIMIT 1) AS s
    ON s.namespace = f.namespace AND s.resource = f.resource
 WHERE f.namespace = FROM_BASE64(?) AND f.resource = FROM_BASE64(?)
  LOCK IN SHARE MODE
