-- Parameters: $1 namespace; $2 name.
-- Result: no row if the lock has no row, else one row: namespace; name; state; token, holder and note of the current or last grant; the microseconds since that grant; the microseconds until the lease ends; the microseconds until the lock is free; the last tick that is done, or an empty text.
-- Promise: reads only, and waits for no other transaction.
SELECT l.namespace, l.name,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > c.now THEN 'held'
            WHEN l.held_until > c.now THEN 'closed'
            WHEN l.nonce IS NOT NULL THEN 'expired'
            ELSE 'free' END AS state,
       l.token, l.holder, l.note,
       CASE WHEN l.token > 0 THEN (extract(epoch FROM c.now - l.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS age_us,
       CASE WHEN l.token > 0 THEN (extract(epoch FROM l.expires_at - c.now)::float8 * 1e6::float8)::bigint ELSE 0 END AS expires_in_us,
       (extract(epoch FROM greatest(l.held_until, c.now) - c.now)::float8 * 1e6::float8)::bigint AS free_in_us,
       coalesce(l.done, '') AS done
  FROM rowlock_lease l, (SELECT clock_timestamp() AS now) c
 WHERE l.namespace = $1::text AND l.name = $2::text
