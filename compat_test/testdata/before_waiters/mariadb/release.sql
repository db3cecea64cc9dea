-- Parameters: minimum hold in microseconds; namespace, name, nonce, token (0: any of that nonce). The names are in hexadecimal digits.
-- Result: one row changed if the grant was ended; if none, released.sql tells why. Error 1205: the row is locked.
-- Promise: ends this grant only; the row stays; waits for nobody.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)),
       held_until = GREATEST(UTC_TIMESTAMP(6), acquired_at + INTERVAL ? MICROSECOND)
 WHERE namespace = UNHEX(?) AND name = UNHEX(?)
   AND nonce = ? AND ? IN (0, token)
