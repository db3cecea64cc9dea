-- Parameters: $1 namespace; $2 name.
-- Result: one row: whether the statement inserted the row; the previous lock_timeout, which the caller restores.
-- Promise: inserts the row of a lock, without a grant. Other transactions see the row when this transaction commits. The statement waits for at most 25 ms for another transaction that inserts the same row.
WITH before AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS lock_timeout
), bounded AS MATERIALIZED (
    SELECT b.lock_timeout, clock_timestamp() AS now, set_config('lock_timeout', '25ms', true) FROM before b
), created AS (
    INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
    SELECT $1::text, $2::text, 0, NULL, '', '', b.now, b.now, timestamptz 'epoch'
      FROM bounded b
        ON CONFLICT (namespace, name) DO NOTHING
 RETURNING true AS done
)
SELECT EXISTS (SELECT FROM created) AS created, b.lock_timeout
  FROM bounded b
