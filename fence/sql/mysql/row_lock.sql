-- Parameters: key.
-- Result: one row: the newest token of the rows with that key, 0 if there is none, and how many they are.
-- Promise: nobody else changes the row before the transaction ends. It has one locking read and no other, so it is not what fixes the transaction's snapshot: reads that follow see what was committed before the lock was had. Where there is a snapshot already, MariaDB refuses (1020) a row that was written since.
/*M!101108 SET STATEMENT innodb_snapshot_isolation = ON FOR */
SELECT COALESCE(MAX(r.guarded_token), 0), COUNT(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = ?
   FOR UPDATE
