-- Parameters: $1 the time in microseconds for which a slot must not have been used.
-- Result: one row: the number of slots deleted.
-- Promise: skips rows that are in use, and waits for no transaction.
WITH unused AS MATERIALIZED (
    SELECT o.slot
      FROM rowlock_lease_outcome o
     WHERE o.committed_at < clock_timestamp() - $1::bigint::float8 * interval '1 microsecond'
       FOR UPDATE SKIP LOCKED
), forgotten AS (
    DELETE FROM rowlock_lease_outcome o
     USING unused u
     WHERE o.slot = u.slot
 RETURNING o.slot
)
SELECT count(*) FROM forgotten
