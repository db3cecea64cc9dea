-- Parameters: $1 the waiters of one process, a JSON array of objects {namespace, name, id}, $2 the channel on which it listens, or an empty text, $3 1 if they wait from now on, else 0.
-- Result: no rows.
-- Promise: releases find them for three seconds; needs no flush; waits at most 1 s.
INSERT INTO rowlock_lease_waiter AS w (namespace, name, id, channel, since, seen_at)
SELECT a.namespace, a.name, a.id, $2::text, b.now, b.now
  FROM json_to_recordset($1::text::json) AS a(namespace text, name text, id uuid),
       (SELECT clock_timestamp() AS now,
               set_config('lock_timeout', '1s', true),
               set_config('synchronous_commit', 'off', true)) b
    ON CONFLICT (namespace, name, id) DO UPDATE
   SET channel = excluded.channel,
       since = CASE WHEN $3::bigint = 1 THEN excluded.since ELSE w.since END,
       seen_at = excluded.seen_at
