-- Parameters: namespace, name in hexadecimal digits, zero to delete refusals or another number to delete runs; the same three parameters again; the number of rows to keep, minus one.
-- Result: none.
-- Promise: deletes the oldest refusals or runs of the lock, so that only the newest remain.
DELETE FROM rowlock_lease_run
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND (token = 0) = (? = 0)
   AND started_at < (SELECT oldest.started_at FROM
                      (SELECT r.started_at FROM rowlock_lease_run AS r
                        WHERE r.namespace = UNHEX(?) AND r.name = UNHEX(?) AND (r.token = 0) = (? = 0)
                        ORDER BY r.started_at DESC LIMIT 1 OFFSET ?) AS oldest)
