-- Parameters: ?1 namespace; ?2 name; ?3 the id of the waiter that sends the request, or NULL; ?4 the microseconds for which no reader joins; ?5 the nonce of the writer's request.
-- Result: none.
-- Promise: changes only a lock that is shared, and ends no share. Until the given time no reader joins, unless forget_writer.sql runs for this writer and for every other writer that waits. The last release reserves the lock for the oldest waiter for which this statement has run.
WITH clock AS NOT MATERIALIZED (
    SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 AS now,
           3000000 AS dead_after
)
UPDATE rowlock_lease
   SET (writer_until, reserved_for) = (
           SELECT c.now + ?4, w.id
             FROM clock c
             LEFT JOIN rowlock_lease_waiter w
               ON w.namespace = ?1 AND w.name = ?2 AND w.id IN (reserved_for, ?3) AND w.seen_at > c.now - c.dead_after
            ORDER BY w.since, w.id
            LIMIT 1),
       writers = CASE WHEN writer_until > (SELECT now FROM clock) THEN ltrim(replace(',' || writers, ',' || ?5, '') || ',' || ?5, ',') ELSE ?5 END
 WHERE namespace = ?1 AND name = ?2
   AND readers IS NOT NULL AND held_until > (SELECT now FROM clock)
