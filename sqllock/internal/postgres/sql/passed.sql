-- Parameters: $1 namespace; $2 name; $3 nonce.
-- Result: no row if this nonce has no grant or its grant has expired, else one row: token; the last recorded tick, or an empty text.
-- Promise: reads one row by its primary key, writes nothing, and waits for no other transaction. Any role can send a notification, so only the row proves the grant.
SELECT l.token, coalesce(l.done, '') AS done
  FROM rowlock_lease l
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND l.expires_at > clock_timestamp()
