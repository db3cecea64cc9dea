-- Parameters: $1 the channel on which the session listens.
-- Result: one row.
-- Promise: releases can see that the session lives, exactly as long as it lives.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0::bigint)) AS locked
