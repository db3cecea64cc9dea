-- Parameters: $1 namespace; $2 name. Of the grant that ends: $3 nonce; $4 token; $5 minimum hold in microseconds. Of the grant that begins: $6 nonce; $7 holder; $8 note; $9 TTL, $10 minimum hold and $11 hand-over delay, all three in microseconds. $12 the id of this process's row in the table of waiters, or NULL.
-- Result: one row, or no row if the meta row is missing: verdict ('granted', or the reason why the lock was not handed over); the token of the new grant, or else of the current or last grant; the holder and note of the grant before this statement; if the lock was not handed over, the microseconds since that grant and until the lock could be handed over, else 0 and 0.
-- Promise: ends the old grant and makes the new grant, with a larger token, or writes nothing. It is one statement, and waits for no other transaction. The new grant is durable.
WITH seen AS MATERIALIZED (
    SELECT m.floor,
           rowlock_lease_same_epoch(m.epoch) AS same_epoch,
           m.longest_ttl_us >= greatest($9::bigint + $11::bigint, $10::bigint) AS ttl_known,
           m.quarantined_until,
           l.token, l.nonce, l.holder, l.note, l.acquired_at, l.held_until,
           l.nonce = $3::text::uuid AND l.token = $4::bigint AND l.expires_at > clock_timestamp() AS ours,
           l.acquired_at + $5::bigint::float8 * interval '1 microsecond' AS min_held_until,
           clock_timestamp() AS now
      FROM rowlock_lease_meta m
      LEFT JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE m.id = 1
), locked AS MATERIALIZED (
    -- A grant must survive a crash, whatever the session's default is.
    SELECT l.token, l.nonce = $6::text::uuid AS same, l.acquired_at, s.floor, clock_timestamp() AS now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM seen s
      JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
     WHERE s.same_epoch AND s.ttl_known AND s.quarantined_until <= s.now
       AND (l.nonce = $6::text::uuid
            OR l.nonce = $3::text::uuid AND l.token = $4::bigint AND l.expires_at > clock_timestamp()
               AND l.acquired_at + $5::bigint::float8 * interval '1 microsecond' <= clock_timestamp())
       FOR UPDATE OF l SKIP LOCKED
), granted AS (
    UPDATE rowlock_lease l
       SET token = CASE WHEN k.same THEN k.token
                        ELSE greatest(k.token + 1, k.floor + 1, (extract(epoch FROM k.now)::float8 * 1e6::float8)::bigint) END,
           nonce = $6::text::uuid,
           holder = $7::text,
           note = $8::text,
           acquired_at = CASE WHEN k.same THEN k.acquired_at ELSE k.now END,
           expires_at = k.now + $9::bigint::float8 * interval '1 microsecond',
           held_until = greatest(
               k.now + ($9::bigint + $11::bigint)::float8 * interval '1 microsecond',
               CASE WHEN k.same THEN k.acquired_at ELSE k.now END + $10::bigint::float8 * interval '1 microsecond')
      FROM locked k
     WHERE l.namespace = $1::text AND l.name = $2::text
 RETURNING l.token
), moved AS (
    -- A comment in acquire.sql explains this update.
    UPDATE rowlock_lease_waiter w
       SET callable = false, nonce = NULL
      FROM locked k
     WHERE w.namespace = $1::text AND w.name = $2::text AND w.id = $12::text::uuid AND w.callable
)
SELECT CASE WHEN g.token IS NOT NULL THEN 'granted'
            WHEN s.nonce = $6::text::uuid THEN 'contended'
            WHEN s.ours IS NOT TRUE THEN 'not held'
            WHEN NOT s.same_epoch THEN 'epoch'
            WHEN s.quarantined_until > s.now THEN 'quarantine'
            WHEN NOT s.ttl_known THEN 'ttl'
            WHEN s.min_held_until > s.now THEN 'min hold'
            ELSE 'contended' END AS verdict,
       coalesce(g.token, s.token, 0) AS token,
       coalesce(s.holder, '') AS holder,
       coalesce(s.note, '') AS note,
       CASE WHEN g.token IS NULL AND s.token > 0
            THEN (extract(epoch FROM s.now - s.acquired_at)::float8 * 1e6::float8)::bigint ELSE 0 END AS since_us,
       CASE WHEN g.token IS NULL AND s.token > 0
            THEN (extract(epoch FROM greatest(s.min_held_until, s.quarantined_until, s.now) - s.now)::float8 * 1e6::float8)::bigint ELSE 0 END AS free_in_us
  FROM seen s LEFT JOIN granted g ON true
