-- Parameters: $1 the waiters of one process, a JSON array of objects {namespace, name, id}; $2 the channel on which the process listens, or an empty text; $3 is 1 if the session that listens holds the advisory lock of the channel, else 0.
-- Result: no rows.
-- Promise: inserts or refreshes the rows of these waiters, and puts them into the queue. Releases then find the waiters for three seconds. With the advisory lock they find them for 35 seconds, but only until the session ends. The statement waits for at most 1 s. The commit needs no flush.
WITH asked AS MATERIALIZED (
    SELECT a.namespace, a.name, a.id, clock_timestamp() AS now,
           clock_timestamp() + CASE WHEN $3::bigint = 1 THEN interval '35 seconds' ELSE interval '3 seconds' END AS alive_until,
           set_config('lock_timeout', '1s', true),
           set_config('synchronous_commit', 'off', true)
      FROM json_to_recordset($1::text::json) AS a(namespace text, name text, id uuid)
), known AS (
    UPDATE rowlock_lease_waiter w
       SET channel = $2::text, alive_until = a.alive_until, callable = true, since = CASE WHEN w.callable THEN w.since ELSE a.now END
      FROM asked a
     WHERE w.namespace = a.namespace AND w.name = a.name AND w.id = a.id
 RETURNING w.id
)
INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until)
SELECT a.namespace, a.name, a.now, a.id, $2::text, a.alive_until
  FROM asked a
 WHERE NOT EXISTS (SELECT FROM known k WHERE k.id = a.id)
