-- Parameters: $1 namespace; $2 name; $3 nonce; $4 token (0 means any grant of that nonce); $5 minimum hold in microseconds; $6 the tick to record, or NULL.
-- Result: one row, 'released', if this grant was ended, else no row. In that case released_before.sql reads the reason.
-- Promise: ends only this grant, and keeps the row. If the minimum hold is over, the release reserves the lock for 50 ms for the waiter that has waited longest, and notifies that waiter. It also notifies the second waiter, because the first may not come. If the minimum hold is not over, the first waiter is notified, so that it learns when the lock becomes free. If the lock is not reserved, and no minimum hold keeps it unavailable, it is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer. The statement waits for the row for at most 1 s. A release that records a tick is durable. Without a tick the commit needs no flush, because a release that is lost in a crash delays the next grant by at most one TTL.
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = least(l.expires_at, b.now),
       reserved_for = CASE WHEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond' <= b.now THEN b.waiters[1][1]::uuid END,
       held_until = CASE WHEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond' > b.now
                         THEN least(l.acquired_at, b.now) + $5::bigint::float8 * interval '1 microsecond'
                         WHEN b.waiters[1][1] IS NULL THEN 'epoch'
                         ELSE b.now + interval '50 milliseconds' END,
       done = coalesce($6::text, l.done)
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               CASE WHEN $6::text IS NULL OR current_setting('synchronous_commit') = 'off'
                    THEN set_config('synchronous_commit', CASE WHEN $6::text IS NULL THEN 'off' ELSE 'on' END, true) END,
               ARRAY(
                SELECT ARRAY[w.id::text, w.channel]
                  FROM rowlock_lease_waiter w
                 WHERE w.namespace = $1::text AND w.name = $2::text
                   AND w.callable AND w.alive_until > clock_timestamp()
                   AND (w.alive_until <= clock_timestamp() + interval '3 seconds' OR NOT pg_try_advisory_xact_lock_shared(hashtextextended(w.channel, 0::bigint)))
                 ORDER BY w.since
                 LIMIT 2) AS waiters) b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
RETURNING 'released' || CASE WHEN b.waiters[1][2] <> '' THEN pg_notify(b.waiters[1][2], b.waiters[1][1])::text ELSE '' END
                     || CASE WHEN b.waiters[2][2] <> '' THEN pg_notify(b.waiters[2][2], b.waiters[2][1] || ' next')::text ELSE '' END
