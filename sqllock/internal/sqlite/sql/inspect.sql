-- Parameters: ?1 namespace; ?2 name.
-- Result: no row if the lock has no row, else one row: namespace; name; state; token, holder and note of the current or last grant; the microseconds since that grant; the microseconds until the lease ends; the microseconds until the lock is free; the last recorded tick, or an empty text; the number of shares; how many waiters have confirmed in the last 3 s that they wait for the lock.
-- Promise: reads only.
WITH clock AS (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           3000000 AS dead_after
)
SELECT l.namespace, l.name,
       CASE WHEN l.nonce IS NOT NULL AND l.expires_at > c.now THEN 'held'
            WHEN l.held_until > c.now THEN 'closed'
            WHEN l.nonce IS NOT NULL THEN 'expired'
            ELSE 'free' END AS state,
       l.token, l.holder, l.note,
       CASE WHEN l.token > 0 THEN c.now - l.acquired_at ELSE 0 END AS age_us,
       CASE WHEN l.token > 0 THEN l.expires_at - c.now ELSE 0 END AS expires_in_us,
       max(l.held_until, c.now) - c.now AS free_in_us,
       coalesce(l.done, '') AS done,
       (SELECT count(*) FROM json_each(l.readers) e WHERE e.value > c.now) AS readers,
       (SELECT count(*)
          FROM rowlock_lease_waiter w
         WHERE w.namespace = l.namespace AND w.name = l.name AND w.seen_at > c.now - c.dead_after) AS waiters
  FROM rowlock_lease l, clock c
 WHERE l.namespace = ?1 AND l.name = ?2
