-- Parameters: the lock's name; for how many seconds the server lets it wait, 0 for not at all.
-- Result: one row: 1 if it was granted, 0 if not, NULL if the server could not say or is read-only.
-- Promise: waits no longer, and takes nothing on a server that is read-only.
SELECT IF(CONCAT(@@global.read_only) IN ('0', 'OFF'), GET_LOCK(?, ?), NULL) AS granted
