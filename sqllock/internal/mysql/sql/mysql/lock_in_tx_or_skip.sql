-- Parameters: in this order: namespace; name. Both are in base64.
-- Result: no row if another transaction has locked the row, else one row: verdict ('locked', or the reason why the lock is not free); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free.
-- Promise: is lock_in_tx.sql for servers on which the error of a locked row would undo the whole transaction. It skips a locked row instead.
/*M!101108 SET STATEMENT innodb_snapshot_isolation = OFF FOR */
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */
       CASE WHEN l.held_until <= UTC_TIMESTAMP(6) THEN 'locked'
            WHEN l.nonce IS NULL AND l.reserved_for IS NOT NULL THEN 'reserved'
            WHEN l.nonce IS NULL THEN 'min hold'
            WHEN l.expires_at > UTC_TIMESTAMP(6) THEN 'leased'
            ELSE 'handover' END AS verdict,
       l.token, CAST(l.holder AS BINARY) AS holder, CAST(l.note AS BINARY) AS note,
       IF(l.token > 0, TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)), 0) AS since_us,
       GREATEST(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.held_until), 0) AS free_in_us
  FROM rowlock_lease AS l
 WHERE l.namespace = FROM_BASE64(?) AND l.name = FROM_BASE64(?)
   FOR UPDATE SKIP LOCKED
