-- Parameters: $1 to $8 as in acquire.sql.
-- Result: one row if the lock was granted: the token; the last recorded tick, or an empty text. Else no row. In that case acquire.sql grants the lock or returns the reason.
-- Promise: grants a lock that is free, or writes nothing. It grants nothing if the lock has no row, or if a transaction has locked the row. It waits for no other transaction. A grant is durable.
UPDATE rowlock_lease l
    -- A server prepares all parts of a statement, also those that it does not run. So this statement takes half of the
    -- server's time of acquire.sql.
   SET token = greatest(f.token + 1, f.floor + 1, (extract(epoch FROM f.now)::float8 * 1e6::float8)::bigint),
       nonce = $3::text::uuid,
       holder = $4::text,
       note = $5::text,
       reserved_for = NULL,
       readers = NULL,
       writer_until = NULL,
       acquired_at = f.now,
       expires_at = f.now + $6::bigint::float8 * interval '1 microsecond',
       held_until = f.now + greatest($6::bigint + $8::bigint, $7::bigint)::float8 * interval '1 microsecond'
  FROM (SELECT l.token, m.floor, clock_timestamp() AS now,
               CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
          FROM rowlock_lease_meta m
          JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
         WHERE m.id = 1 AND rowlock_lease_same_epoch(m.epoch)
           AND m.longest_ttl_us >= greatest($6::bigint + $8::bigint, $7::bigint)
           AND m.quarantined_until <= clock_timestamp()
           AND l.held_until <= clock_timestamp()
           FOR UPDATE OF l SKIP LOCKED) f
 WHERE l.namespace = $1::text AND l.name = $2::text
RETURNING l.token, coalesce(l.done, '') AS done
