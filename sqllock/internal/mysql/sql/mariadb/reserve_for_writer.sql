-- Parameters: in this order: how long readers are refused, in microseconds; namespace; name. Names are in base64.
-- Result: one row changed if the lock is shared. Error 1205: another transaction has locked the row.
-- Promise: records that a writer waits, so that no further reader is granted a share. It waits for no other transaction.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET writer_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND readers IS NOT NULL AND held_until > UTC_TIMESTAMP(6)
