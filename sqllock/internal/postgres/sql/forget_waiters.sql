-- Parameters: none.
-- Result: no rows.
-- Promise: deletes waiters that were not seen for a minute, because their processes have died; waits for no other transaction; needs no flush.
DELETE FROM rowlock_lease_waiter
 WHERE ctid = ANY (ARRAY(
       SELECT w.ctid
         FROM rowlock_lease_waiter w, (SELECT set_config('synchronous_commit', 'off', true)) b
        WHERE w.seen_at < clock_timestamp() - interval '60 seconds'
          FOR UPDATE OF w SKIP LOCKED))
