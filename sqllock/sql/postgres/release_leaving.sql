-- Parameters: those of release.sql, $6 the id of a waiter who waits no more.
-- Result: that of release.sql.
-- Promise: that of release.sql; and this waiter is not called, now or later.
WITH gone AS (
    DELETE FROM rowlock_lease_waiter w
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $6::text::uuid
)
UPDATE rowlock_lease l
   SET nonce = NULL,
       expires_at = least(l.expires_at, b.now),
       reserved_for = CASE WHEN l.acquired_at + $5::bigint * interval '1 microsecond' <= b.now THEN b.waiter[1]::uuid END,
       held_until = greatest(l.acquired_at + $5::bigint * interval '1 microsecond',
                             CASE WHEN b.waiter IS NULL THEN b.now ELSE b.now + interval '50 milliseconds' END)
  FROM (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               set_config('synchronous_commit', 'off', true),
               (SELECT ARRAY[w.id::text, w.channel]
                  FROM rowlock_lease_waiter w
                 WHERE w.namespace = $1::text AND w.name = $2::text
                   AND w.seen_at > clock_timestamp() - interval '3 seconds' AND w.id IS DISTINCT FROM $6::text::uuid
                 ORDER BY w.since
                 LIMIT 1) AS waiter) b
 WHERE l.namespace = $1::text AND l.name = $2::text
   AND l.nonce = $3::text::uuid AND $4::bigint IN (0, l.token)
RETURNING CASE WHEN l.reserved_for IS NULL OR b.waiter[2] = '' THEN 'released'
               ELSE 'released' || pg_notify(b.waiter[2], l.reserved_for::text)::text END
