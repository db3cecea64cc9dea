-- Parameters: $1 the waiters, a JSON array of objects {namespace, name, id}.
-- Result: no rows.
-- Promise: deletes the rows of these waiters, so that releases no longer choose them. It waits for at most 1 s. The commit needs no flush.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'off', true)
)
DELETE FROM rowlock_lease_waiter w
 USING bounded, json_to_recordset($1::text::json) AS a(namespace text, name text, id uuid)
 WHERE w.namespace = a.namespace AND w.name = a.name AND w.id = a.id
