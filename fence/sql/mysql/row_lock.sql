-- Parameters: key.
-- Result: one row: the largest token of the rows with that key, or 0 if there is none, and the number of these rows.
-- Promise: no other transaction changes the row until this transaction ends. The statement has only a locking read, so it does not fix the transaction's snapshot: later reads see what was committed before the lock was acquired. If the transaction already has a snapshot, MariaDB rejects a row that was written after that snapshot (error 1020).
/*M!101108 SET STATEMENT innodb_snapshot_isolation = ON FOR */
SELECT COALESCE(MAX(r.guarded_token), 0), COUNT(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = ?
   FOR UPDATE
