-- Parameters: for how many microseconds a name must not have had a run.
-- Result: none.
-- Promise: deletes the history of names that are not in the lock table and had no run for that time; changes no lock.
DELETE r FROM rowlock_lease_run AS r
  JOIN (SELECT n.namespace, n.name FROM rowlock_lease_run AS n
         GROUP BY n.namespace, n.name
        HAVING MAX(n.started_at) <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND) AS old ON old.namespace = r.namespace AND old.name = r.name
  LEFT JOIN rowlock_lease AS l ON l.namespace = r.namespace AND l.name = r.name
 WHERE l.name IS NULL
