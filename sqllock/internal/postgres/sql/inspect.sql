-- Parameters: $1 namespace; $2 name.
-- Result: no row if the lock has no row, else one row: namespace; name; state; token, holder and note of the current or last grant; the microseconds since that grant; the microseconds until the lease ends; the microseconds until the lock is free; the last recorded tick, or an empty text; how many shares of the lock have not expired; how many waiters that a release may choose have confirmed in the last 3 s that they wait for the lock.
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
       coalesce(l.done, '') AS done,
       (SELECT count(*)
          FROM jsonb_each(l.readers) r
         WHERE r.value::bigint > (extract(epoch FROM c.now)::float8 * 1e6::float8)::bigint) AS readers,
       (SELECT count(*)
          FROM rowlock_lease_waiter w
         WHERE w.namespace = l.namespace AND w.name = l.name
           AND w.callable AND w.alive_until > c.now AND (w.alive_until <= c.now + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))) AS waiters
  FROM rowlock_lease l, (SELECT clock_timestamp() AS now) c
 WHERE l.namespace = $1::text AND l.name = $2::text
