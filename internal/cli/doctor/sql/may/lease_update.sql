-- Parameters: none.
-- Result: a plan, or the error about a missing privilege, table or column.
-- Promise: executes nothing.
EXPLAIN UPDATE rowlock_lease SET token = 0, nonce = NULL, expires_at = expires_at, held_until = held_until, reserved_for = NULL, done = NULL, readers = NULL, writer_until = NULL, writers = NULL WHERE name = ''
