-- Parameters: $1 the channel on which the session listens.
-- Result: one row: whether the session has acquired the advisory lock.
-- Promise: the session holds an advisory lock on the channel's name until the session ends. So a release can check whether the session is alive.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0::bigint)) AS locked
