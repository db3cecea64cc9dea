-- Parameters: $1 namespace; $2 name; $3 the epoch token; $4 the shares, a JSON object with the TTL of each share in microseconds under the share's nonce.
-- Result: one row for each share that was renewed: its nonce; 'renewed'. A share without a row has ended.
-- Promise: renews no share that has expired, and no share of another epoch. It drops the expired shares of other readers. It waits for the row for at most 1 s. A renewal is durable.
WITH locked AS MATERIALIZED (
    -- A renewal must survive a crash. Otherwise the share could end before the deadline that its holder relies on.
    SELECT l.readers,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM rowlock_lease l, (SELECT set_config('lock_timeout', '1s', true)) bounded
     WHERE l.namespace = $1::text AND l.name = $2::text
       AND l.token = $3::bigint AND l.readers IS NOT NULL AND l.held_until > clock_timestamp()
       FOR UPDATE OF l
), timed AS MATERIALIZED (
    -- The clock is read once, after the row is locked.
    SELECT k.readers, (extract(epoch FROM clock_timestamp())::float8 * 1e6::float8)::bigint AS now_us FROM locked k
), live AS MATERIALIZED (
    SELECT r.key AS nonce, a.ttl IS NOT NULL AS renews, CASE WHEN a.ttl IS NULL THEN r.value::bigint ELSE t.now_us + a.ttl::bigint END AS until_us
      FROM timed t
     CROSS JOIN LATERAL jsonb_each(t.readers) r
      LEFT JOIN jsonb_each($4::text::jsonb) AS a(nonce, ttl) ON a.nonce = r.key
     WHERE r.value::bigint > t.now_us
), kept AS MATERIALIZED (
    SELECT jsonb_object_agg(v.nonce, v.until_us) AS readers,
           timestamptz 'epoch' + max(v.until_us)::float8 * interval '1 microsecond' AS until
      FROM live v
    HAVING bool_or(v.renews)
), renewed AS (
    UPDATE rowlock_lease l
       SET readers = k.readers, expires_at = k.until, held_until = k.until
      FROM kept k
     WHERE l.namespace = $1::text AND l.name = $2::text
 RETURNING true AS done
)
SELECT v.nonce, 'renewed' AS outcome
  FROM live v, renewed
 WHERE v.renews
