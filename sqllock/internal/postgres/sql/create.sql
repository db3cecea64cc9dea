-- Parameters: $1 namespace; $2 name.
-- Result: one row, true, if the statement inserted the row, else no row.
-- Promise: inserts the row of a lock, without a grant. It waits for at most 25 ms for another transaction that inserts the same row. The commit needs no flush: if a crash loses the row, the next request inserts it.
INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT $1::text, $2::text, 0, NULL, '', '', b.now, b.now, timestamptz 'epoch'
  FROM (SELECT clock_timestamp() AS now, set_config('lock_timeout', '25ms', true), set_config('synchronous_commit', 'off', true)) b
    ON CONFLICT (namespace, name) DO NOTHING
RETURNING true AS created
