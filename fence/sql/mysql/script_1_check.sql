-- Parameters: none; 'rowlock namespace', 'rowlock resource' and 'rowlock nonce' are replaced by texts in hexadecimal digits.
-- Result: none; @rowlock_check is a statement that does nothing if the lease was the last to seal the resource, and else a text that is no statement.
-- Promise: no other transaction changes the mark until this transaction ends. The subquery s sees the transaction's snapshot: a mark that differs from the newest one shows that the transaction began to read before the seal.
SET @rowlock_check = COALESCE((
    SELECT IF(f.nonce = CONVERT('rowlock nonce' USING ascii) AND s.nonce = CONVERT('rowlock nonce' USING ascii), 'DO 0', NULL)
      FROM rowlock_lease_fence AS f
      LEFT JOIN (SELECT o.namespace, o.resource, o.nonce
                   FROM rowlock_lease_fence AS o
                  WHERE o.namespace = 'rowlock namespace' AND o.resource = 'rowlock resource'
                  LIMIT 1) AS s
        ON s.namespace = f.namespace AND s.resource = f.resource
     WHERE f.namespace = 'rowlock namespace' AND f.resource = 'rowlock resource'
      LOCK IN SHARE MODE), 'rowlock: stale: another lease has sealed, or this one never has')
