-- Parameters: $1 minimum hold in microseconds, $2 the tick that is done, or NULL, $3 namespace, $4 name of the lock, $5 nonce, $6 token.
-- Result: none; one row changed if the lease was alive and is now released.
-- Promise: the commit ends this lease and no other lease, and records the tick. If the minimum hold is over, the commit reserves the lock for the oldest waiter for 50 ms. The commit also notifies that waiter. The row stays. No other process acquires the lock before the commit.
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = b.now,
       reserved_for = CASE WHEN least(l.acquired_at, b.now) + $1::bigint::float8 * interval '1 microsecond' <= b.now
                           THEN (b.called).id END,
       held_until = CASE WHEN least(l.acquired_at, b.now) + $1::bigint::float8 * interval '1 microsecond' > b.now
                         THEN least(l.acquired_at, b.now) + $1::bigint::float8 * interval '1 microsecond'
                         WHEN (b.called).id IS NULL THEN 'epoch'
                         ELSE b.now + interval '50 milliseconds' END,
       done = coalesce($2::text, l.done)
  FROM (SELECT clock_timestamp() AS now,
               (SELECT w
                  FROM rowlock_lease_waiter w
                 WHERE w.namespace = $3::text AND w.name = $4::text
                   AND w.callable AND w.alive_until > clock_timestamp()
                   AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
                 ORDER BY w.since
                 LIMIT 1) AS called) b
 WHERE l.namespace = $3::text AND l.name = $4::text
   AND l.nonce = $5::text::uuid AND l.token = $6::bigint AND l.expires_at > clock_timestamp()
RETURNING CASE WHEN l.reserved_for IS NOT NULL AND (b.called).channel <> ''
               THEN pg_notify((b.called).channel, l.reserved_for::text) END
