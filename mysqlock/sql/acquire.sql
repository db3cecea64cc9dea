-- Parameters: the lock's name; how many seconds the server may wait for the lock, 0 for not at all.
-- Result: one row: the next UUID_SHORT without the server's id, or NULL if the lock was not granted or the server is read-only.
-- Promise: waits for at most the given seconds. Reads no table. Takes the number while it holds the lock: IF evaluates its condition first. Locks nothing on a read-only server.
SELECT IF(CONCAT(@@global.read_only) IN ('0', 'OFF'),
          IF(GET_LOCK(?, ?) = 1, UUID_SHORT() & 0x00FFFFFFFFFFFFFF, NULL), NULL) AS number
