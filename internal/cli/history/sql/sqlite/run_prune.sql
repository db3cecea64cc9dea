-- Parameters: ?1 for how many microseconds a lock must have had no run or refusal.
-- Result: none.
-- Promise: deletes the history of each lock that is not in the lock table and has had no run or refusal for that time; changes no lock.
DELETE FROM rowlock_lease_run
 WHERE NOT EXISTS (SELECT 1 FROM rowlock_lease_run AS n
                    WHERE n.namespace = rowlock_lease_run.namespace AND n.name = rowlock_lease_run.name
                      AND n.started_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - ?1)
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease AS l WHERE l.namespace = rowlock_lease_run.namespace AND l.name = rowlock_lease_run.name)
