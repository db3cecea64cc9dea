-- Parameters: the name of the lock that makes this connection the ear of its process.
-- Result: one row with 1, or with 0 if an earlier ear of the process has not ended yet.
-- Promise: waits for at most two seconds.
SELECT GET_LOCK(?, 2)
