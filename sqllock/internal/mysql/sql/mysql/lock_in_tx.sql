-- Parameters: in this order: namespace; name. Both are in base64.
-- Result: error 3572 (MariaDB: 1205) if another transaction has locked the row; no row if the lock has no row; else one row: verdict ('locked', or the reason why the lock is not free); token, holder and note of the lock's current or last grant; the microseconds since that grant; the microseconds until the lock is free.
-- Promise: locks the row until the end of the transaction, and waits for no other transaction. It is a locking read, so it does not fix the snapshot of the transaction. If the transaction already has a snapshot, MariaDB would otherwise refuse to lock a row that is newer, and roll the whole transaction back (error 1020).
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
   FOR UPDATE NOWAIT
