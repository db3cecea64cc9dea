-- Parameters: none.
-- Result: no rows.
-- Promise: deletes the rows of waiters that have not confirmed for a minute that they wait, because their processes have died. It waits for no other transaction. The commit needs no flush.
DELETE FROM rowlock_lease_waiter
 WHERE ctid = ANY (ARRAY(
       SELECT w.ctid
         FROM rowlock_lease_waiter w, (SELECT set_config('synchronous_commit', 'off', true)) b
        WHERE w.seen_at < clock_timestamp() - interval '60 seconds'
          FOR UPDATE OF w SKIP LOCKED))
