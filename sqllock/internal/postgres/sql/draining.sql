-- Parameters: $1 namespace; $2 name.
-- Result: one row with the columns of acquire.sql: verdict is 'draining' if a transaction has locked the fence mark of the lock's own name, else 'contended'; token, holder and note of the lock's current or last grant; the microseconds since that grant; 0 instead of the microseconds until the lock is free.
-- Promise: changes nothing, and waits for no other transaction.
WITH free AS MATERIALIZED (
    SELECT f.resource
      FROM rowlock_lease_fence f
     WHERE f.namespace = $1::text AND f.resource = $2::text
       FOR NO KEY UPDATE SKIP LOCKED
)
SELECT CASE WHEN f.resource IS NOT NULL AND NOT EXISTS (SELECT FROM free) THEN 'draining' ELSE 'contended' END AS verdict,
       coalesce(l.token, 0) AS token,
       coalesce(l.holder, '') AS holder,
       coalesce(l.note, '') AS note,
       CASE WHEN l.token > 0 THEN (extract(epoch FROM c.now - l.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       0::bigint AS free_in_us
  FROM (SELECT clock_timestamp() AS now) c
  LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
  LEFT JOIN rowlock_lease_fence f ON f.namespace = $1::text AND f.resource = $2::text
