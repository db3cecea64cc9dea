-- Parameters: minimum hold in microseconds; namespace, name of the lock, both in hexadecimal digits; nonce, token.
-- Result: none; one row changed if the lease was alive and has ended.
-- Promise: with the commit, and not before, this lease ends, and no other; the row stays; nobody is granted the lock in between.
UPDATE rowlock_lease
   SET nonce = NULL,
       expires_at = UTC_TIMESTAMP(6),
       held_until = GREATEST(UTC_TIMESTAMP(6), acquired_at + INTERVAL ? MICROSECOND)
 WHERE namespace = UNHEX(?) AND name = UNHEX(?)
   AND nonce = ? AND token = ? AND expires_at > UTC_TIMESTAMP(6)
