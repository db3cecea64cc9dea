-- Parameters: none.
-- Result: a plan, or the error of a privilege, a table or a column that is missing.
-- Promise: carries nothing out.
EXPLAIN UPDATE rowlock_lease SET token = 0, nonce = NULL, expires_at = expires_at, held_until = held_until, reserved_for = NULL WHERE name = ''
