-- Parameters: key.
-- Result: one row: the largest token of the rows with that key, or 0 if there is none, and the number of these rows.
-- Promise: no other transaction changes the row before this one ends. The statement has only a locking read, so it does not fix the transaction's snapshot: later reads see what was committed before the lock was acquired. If a snapshot exists already, MariaDB rejects (1020) a row that was written since.
/*M!101108 SET STATEMENT innodb_snapshot_isolation = ON FOR */
SELECT COALESCE(MAX(r.guarded_token), 0), COUNT(*)
  FROM guarded_row AS r
 WHERE r.guarded_key = ?
   FOR UPDATE
