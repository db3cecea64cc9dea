-- Parameters: for how many microseconds a lock must have had no run or refusal.
-- Result: none.
-- Promise: deletes the history of each lock that is not in the lock table and has had no run or refusal for that time; changes no lock.
DELETE r FROM rowlock_lease_run AS r
  JOIN (SELECT n.namespace, n.name FROM rowlock_lease_run AS n
         GROUP BY n.namespace, n.name
        HAVING MAX(n.started_at) <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND) AS old ON old.namespace = r.namespace AND old.name = r.name
  LEFT JOIN rowlock_lease AS l ON l.namespace = r.namespace AND l.name = r.name
 WHERE l.name IS NULL
