-- Parameters: none.
-- Result: no rows.
-- Promise: deletes the rows of waiters that have counted as dead for a minute. It waits for no other transaction. The commit needs no flush.
DELETE FROM rowlock_lease_waiter
 WHERE ctid = ANY (ARRAY(
       SELECT w.ctid
         FROM rowlock_lease_waiter w, (SELECT set_config('synchronous_commit', 'off', true)) b
        WHERE w.alive_until < clock_timestamp() - interval '60 seconds'
          FOR UPDATE OF w SKIP LOCKED))
