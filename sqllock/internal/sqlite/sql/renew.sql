-- Parameters: ?1 the grants, a JSON array of objects {n, namespace, name, nonce, token, ttl, min_hold, handover_delay}, durations in microseconds.
-- Result: one row for each grant that was renewed: namespace, name, nonce, token.
-- Promise: renews no lease that has ended, and inserts no row. A grant that has no row in the result is lost.
UPDATE rowlock_lease AS l
   SET expires_at = a.now + a.ttl,
       held_until = max(a.now + a.ttl + a.handover_delay, min(l.acquired_at, a.now) + a.min_hold)
  FROM (SELECT json_extract(value, '$.namespace') AS namespace,
               json_extract(value, '$.name') AS name,
               json_extract(value, '$.nonce') AS nonce,
               CAST(json_extract(value, '$.token') AS INTEGER) AS token,
               json_extract(value, '$.ttl') AS ttl,
               json_extract(value, '$.min_hold') AS min_hold,
               json_extract(value, '$.handover_delay') AS handover_delay,
               CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now
          FROM json_each(?1)) AS a
 WHERE l.namespace = a.namespace AND l.name = a.name
   AND l.nonce = a.nonce AND l.token = a.token AND l.expires_at > a.now
RETURNING namespace, name, nonce, token
