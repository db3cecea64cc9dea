-- Parameters: in this order: minimum hold in microseconds, twice; namespace; eight names; on MySQL once more namespace and eight names; name, nonce and token of eight grants; on MySQL the number of grants. If there are fewer grants, the last one is repeated. Names are in base64.
-- Result: the number of released grants. Error 1205 (MariaDB): another transaction has locked a row, and nothing is changed.
-- Promise: ends only these grants, and keeps the rows. It waits for no other transaction. On MySQL it ends all grants or none. It ends no grant whose lock has a queue, because release.sql also wakes a process. If no minimum hold keeps a lock unavailable, the lock is free at once, even if the clock is set back. If the clock is set back, the minimum hold does not get longer.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease AS l FORCE INDEX (PRIMARY)
   SET l.held_until = IF(LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND > UTC_TIMESTAMP(6), LEAST(l.acquired_at, UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND, TIMESTAMP'1970-01-01 00:00:00'),
       l.expires_at = LEAST(l.expires_at, UTC_TIMESTAMP(6)),
       l.nonce = NULL
 WHERE l.namespace = FROM_BASE64(?)
   AND l.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
   /*!80000 AND (SELECT own.grants FROM (
           SELECT COUNT(*) AS grants FROM (
               SELECT 1 AS one
                 FROM rowlock_lease AS r FORCE INDEX (PRIMARY)
                WHERE r.namespace = FROM_BASE64(?)
                  AND r.name IN (FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?), FROM_BASE64(?))
                  AND (r.name, r.nonce, r.token) IN (
                      (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?),
                      (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?))
                  AND r.waiters IS NULL
                LIMIT 1000000
                  FOR UPDATE SKIP LOCKED) AS one) AS own) = ? */
   /*M! AND (l.name, l.nonce, l.token) IN (
       (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?),
       (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?), (FROM_BASE64(?), ?, ?))
   AND l.waiters IS NULL */
