-- Parameters: $1 the grants, a JSON array of objects {n, namespace, name, nonce, token, ttl, min_hold, handover_delay}, durations in microseconds.
-- Result: one row for each grant: n; outcome, which is 'renewed', 'lost' or 'unknown'.
-- Promise: renews no lease that has ended, inserts no row, and waits for no other transaction. If another transaction has locked the row of a grant, the outcome of that grant is 'unknown', and the other grants are renewed.
WITH asked AS MATERIALIZED (
    -- The clock is read once. With two reads, a lease that ended between the two reads could be renewed.
    SELECT a.n, a.namespace, a.name, a.nonce, a.token, a.ttl, a.min_hold, a.handover_delay, clock_timestamp() AS now
      FROM json_to_recordset($1::text::json) AS a(
           n integer, namespace text, name text, nonce uuid, token bigint, ttl bigint, min_hold bigint, handover_delay bigint)
), locked AS MATERIALIZED (
    -- A renewal must survive a crash. Otherwise the lease could end before the deadline that its holder relies on.
    SELECT a.n, a.ttl, a.min_hold, a.handover_delay, l.row, l.acquired_at, a.now,
           CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
      FROM asked a
     CROSS JOIN LATERAL (
           SELECT l.ctid AS row, l.acquired_at
             FROM rowlock_lease l
            WHERE l.namespace = a.namespace AND l.name = a.name
              AND l.nonce = a.nonce AND l.token = a.token AND l.expires_at > a.now
              FOR UPDATE SKIP LOCKED) l
), renewed AS (
    -- If a row changed after this statement began, the statement cannot see the new version of the row. The row is not
    -- renewed, and the outcome of its grant is 'unknown'.
    UPDATE rowlock_lease l
       SET expires_at = k.now + k.ttl::float8 * interval '1 microsecond',
           held_until = greatest(k.now + (k.ttl + k.handover_delay)::float8 * interval '1 microsecond',
                                 least(k.acquired_at, k.now) + k.min_hold::float8 * interval '1 microsecond')
      FROM locked k
     WHERE l.ctid = k.row
 RETURNING k.n
)
SELECT a.n,
       CASE WHEN r.n IS NOT NULL THEN 'renewed'
            WHEN l.alive THEN 'unknown'
            ELSE 'lost' END AS outcome
  FROM asked a
  LEFT JOIN renewed r ON r.n = a.n
  LEFT JOIN LATERAL (
       SELECT true AS alive
         FROM rowlock_lease l
        WHERE l.namespace = a.namespace AND l.name = a.name
          AND l.nonce = a.nonce AND l.token = a.token AND l.expires_at > clock_timestamp()
        LIMIT 1) l ON true
