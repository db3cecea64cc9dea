-- Parameters: $1 namespace, $2 name, $3 nonce.
-- Result: one row, the token, if a grant of this nonce is alive, else no row.
-- Promise: reads one row by its primary key, writes nothing and waits for no other transaction. Every role may send a notification, so only the row proves the grant.
SELECT l.token
  FROM rowlock_lease l
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND l.expires_at > clock_timestamp()
