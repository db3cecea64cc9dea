-- Parameters: $1 for how many microseconds a lock must have had no run or refusal.
-- Result: none.
-- Promise: deletes the history of each lock that is not in the lock table and has had no run or refusal for that time; changes no lock.
DELETE FROM rowlock_lease_run r
 WHERE r.started_at <= clock_timestamp() - $1::bigint::float8 * interval '1 microsecond'
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease_run n
                    WHERE n.namespace = r.namespace AND n.name = r.name
                      AND n.started_at > clock_timestamp() - $1::bigint::float8 * interval '1 microsecond')
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease l WHERE l.namespace = r.namespace AND l.name = r.name)
