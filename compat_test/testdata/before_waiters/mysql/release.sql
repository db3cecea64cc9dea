-- Parameters: minimum hold in microseconds; namespace, name, nonce, token (0: any of that nonce); namespace, name, nonce. The names are in hexadecimal digits.
-- Result: one row changed if the grant was ended; if none, released.sql tells why.
-- Promise: ends this grant only; the row stays; waits for nobody: the subquery, evaluated before a row is touched, skips what another transaction has locked.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)),
       held_until = GREATEST(UTC_TIMESTAMP(6), acquired_at + INTERVAL ? MICROSECOND)
 WHERE namespace = UNHEX(?) AND name = UNHEX(?)
   AND nonce = ? AND ? IN (0, token)
   AND (SELECT mine.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS l
            WHERE l.namespace = UNHEX(?) AND l.name = UNHEX(?) AND l.nonce = ?
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS mine) = 1
