-- Parameters: $1 the channel on which the session listens.
-- Result: one row.
-- Promise: for as long as the session lives, and no longer, releases see that it does.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0::bigint)) AS locked
