-- Parameters: in this order: minimum hold in microseconds, twice; namespace; eight names; namespace; eight names; name, nonce and token of eight grants; the number of grants. If there are fewer grants, the last one is repeated. Names are in base64.
-- Result: the number of released grants, which is the number of grants or 0.
-- Promise: ends only these grants, all or none, and keeps the rows. It waits for no other transaction, and skips a row that another transaction has locked. It ends no grant whose lock has a queue, because release.sql also wakes a process. A queue whose first process has not confirmed in the last three seconds that it waits does not count. If no minimum hold keeps a lock unavailable, the lock is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease AS l FORCE INDEX (PRIMARY)
   SET l.held_until = IF(LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6), LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND, TIMESTAMP'1970-01-01 00:00:00'),
       l.expires_at = LEAST(l.expires_at, UTC_TIMESTAMP(6)),
       l.nonce = NULL
 WHERE l.namespace = FROM_BASE64(?)
   AND l.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
   AND (SELECT own.grants FROM (
           SELECT COUNT(*) AS grants FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS r FORCE INDEX (PRIMARY)
                WHERE r.namespace = FROM_BASE64(?)
                  AND r.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
                  AND (r.name, r.nonce, r.token) IN (
                      (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?),
                      (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?))
                  AND (r.waiters IS NULL OR r.next_seen_at <= UTC_TIMESTAMP(6) - INTERVAL 3 SECOND)
                LIMIT 1000000
                  FOR UPDATE SKIP LOCKED) AS one) AS own) = ?
