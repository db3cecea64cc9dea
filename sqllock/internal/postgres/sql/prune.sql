-- Parameters: $1 the microseconds for which a lock must have been free; $2 the largest number of rows to delete.
-- Result: one row: the number of deleted rows.
-- Promise: deletes only rows of free locks, and skips rows that another transaction has locked. The same statement raises the floor to the largest deleted token. It waits for at most 1 s.
WITH meta AS MATERIALIZED (
    -- The meta row is locked first. An acquire that inserts a row also locks the meta row until it commits. So the insert
    -- is either committed before this statement, or uses the raised floor.
    SELECT clock_timestamp() AS now, set_config('lock_timeout', '1s', true)
      FROM rowlock_lease_meta
     WHERE id = 1
       FOR UPDATE
), unused AS MATERIALIZED (
    SELECT l.namespace, l.name
      FROM meta m
      JOIN rowlock_lease l ON greatest(l.held_until, l.expires_at) <= m.now - $1::bigint::float8 * interval '1 microsecond'
     LIMIT $2::bigint
       FOR UPDATE OF l SKIP LOCKED
), forgotten AS (
    DELETE FROM rowlock_lease l
     USING unused u
     WHERE l.namespace = u.namespace AND l.name = u.name
 RETURNING l.token
), raised AS (
    UPDATE rowlock_lease_meta m
       SET floor = greatest(m.floor, f.token)
      FROM (SELECT max(token) AS token FROM forgotten) f
     WHERE m.id = 1 AND f.token IS NOT NULL
)
SELECT count(*) FROM forgotten
