-- Parameters: $1 to $6 as in acquire_shared.sql.
-- Result: one row if the share was granted: the epoch token; the last recorded tick, or an empty text. Else no row. In that case acquire_shared.sql grants the share or returns the reason.
-- Promise: grants a share of a lock that is free or shared, or writes nothing. It grants nothing if a process waits, if a transaction has locked the row, or if the nonce has a share already. It waits for no other transaction. It keeps the shares of other readers, also those that have expired. A grant is durable.
UPDATE rowlock_lease l
   SET token = k.token,
       nonce = CASE WHEN k.joins THEN l.nonce ELSE ('0000000000000000' || lpad(to_hex(k.token), 16, '0'))::uuid END,
       holder = $4::text,
       note = $5::text,
       reserved_for = NULL,
       readers = CASE WHEN k.joins THEN l.readers ELSE '{}'::jsonb END || pg_catalog.jsonb_build_object($3::text, k.now_us + $6::bigint),
       acquired_at = CASE WHEN k.joins THEN l.acquired_at ELSE timestamptz 'epoch' + k.now_us::float8 * interval '1 microsecond' END,
       expires_at = greatest(CASE WHEN k.joins THEN l.held_until END, timestamptz 'epoch' + (k.now_us + $6::bigint)::float8 * interval '1 microsecond'),
       held_until = greatest(CASE WHEN k.joins THEN l.held_until END, timestamptz 'epoch' + (k.now_us + $6::bigint)::float8 * interval '1 microsecond')
  FROM (SELECT f.now_us, f.joins, CASE WHEN f.joins THEN f.token ELSE greatest(f.token + 1, f.floor + 1, f.now_us) END AS token
          FROM (SELECT l.token, m.floor, (extract(epoch FROM clock_timestamp())::float8 * 1e6::float8)::bigint AS now_us,
                       l.readers IS NOT NULL AND l.held_until > clock_timestamp() AS joins,
                       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
                  FROM rowlock_lease_meta m
                  JOIN rowlock_lease l ON l.namespace = $1::text AND l.name = $2::text
                 WHERE m.id = 1 AND rowlock_lease_same_epoch(m.epoch)
                   AND m.longest_ttl_us >= $6::bigint
                   AND m.quarantined_until <= clock_timestamp()
                   AND (l.held_until <= clock_timestamp() OR l.readers IS NOT NULL AND l.readers ->> $3::text IS NULL)
                   AND (l.writer_until IS NULL OR l.writer_until <= clock_timestamp())
                   AND NOT EXISTS (SELECT FROM rowlock_lease_waiter w WHERE w.namespace = $1::text AND w.name = $2::text)
                   FOR UPDATE OF l SKIP LOCKED) f) k
 WHERE l.namespace = $1::text AND l.name = $2::text
RETURNING l.token, coalesce(l.done, '') AS done
