-- Parameters: namespace, name in hexadecimal digits, the token of a run of the sort that is trimmed: zero for those that were refused; the same three again; how many rows stand before the oldest that is kept.
-- Result: none.
-- Promise: deletes all but the newest of that sort.
DELETE FROM rowlock_lease_run
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND (token = 0) = (? = 0)
   AND started_at < (SELECT oldest.started_at FROM
                      (SELECT r.started_at FROM rowlock_lease_run AS r
                        WHERE r.namespace = UNHEX(?) AND r.name = UNHEX(?) AND (r.token = 0) = (? = 0)
                        ORDER BY r.started_at DESC LIMIT 1 OFFSET ?) AS oldest)
