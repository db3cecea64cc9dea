-- Parameters: $1 for how many microseconds a name must not have had a run.
-- Result: none.
-- Promise: deletes the history of names that are not in the lock table and had no run for that time; changes no lock.
DELETE FROM rowlock_lease_run r
 WHERE r.started_at <= clock_timestamp() - $1::bigint::float8 * interval '1 microsecond'
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease_run n
                    WHERE n.namespace = r.namespace AND n.name = r.name
                      AND n.started_at > clock_timestamp() - $1::bigint::float8 * interval '1 microsecond')
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease l WHERE l.namespace = r.namespace AND l.name = r.name)
