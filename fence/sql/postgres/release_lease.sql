-- Parameters: $1 minimum hold in microseconds, $2 namespace, $3 name of the lock, $4 nonce, $5 token.
-- Result: none; one row changed if the lease was alive and has ended.
-- Promise: with the commit, and not before, this lease ends, and no other; the row stays; nobody is granted the lock in between.
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = clock_timestamp(),
       held_until = greatest(clock_timestamp(), l.acquired_at + $1::bigint * interval '1 microsecond')
 WHERE l.namespace = $2::text AND l.name = $3::text
   AND l.nonce = $4::text::uuid AND l.token = $5::bigint AND l.expires_at > clock_timestamp()
