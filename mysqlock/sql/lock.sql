-- Parameters: the lock's name; how many seconds the server may wait for the lock, 0 for not at all.
-- Result: one row: 1 if the lock was granted, 0 if not, NULL after an error or if the server is read-only.
-- Promise: waits for at most the given seconds. Locks nothing on a read-only server.
SELECT IF(CONCAT(@@global.read_only) IN ('0', 'OFF'), GET_LOCK(?, ?), NULL) AS granted
