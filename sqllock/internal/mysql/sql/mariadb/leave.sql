-- Parameters: in this order: the id of this process in the queue, four times; namespace; name; the id of this process in the queue. Names are in base64.
-- Result: one row changed if the process was in the queue. If the lock is then reserved for the next process, LAST_INSERT_ID is the number of the ear of that process, as in release.sql, else 0. Error 1205: another transaction has locked the row.
-- Promise: removes this process, which no longer waits, from the queue. If the lock was reserved for this process, the lock is then reserved for the next process of the queue. If there is no next process, the lock is then free. The statement waits for no other transaction. An expression reads only columns that are assigned after it, so it reads their old values.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET held_until = IF(waiters = ? AND nonce IS NULL AND reserved_for = ?, TIMESTAMP'1970-01-01 00:00:00', held_until),
       reserved_for = IF(reserved_for = ? AND LAST_INSERT_ID(COALESCE(CONV(NULLIF(SUBSTRING(waiters, 62, 12), x''), 16, 10), 0)) >= 0, NULLIF(SUBSTRING(waiters, 38, 36), x''), reserved_for),
       waiters = NULLIF(SUBSTRING(REPLACE(CONCAT(',', waiters), CONCAT(',', ?), x''), 2), x'')
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND FIND_IN_SET(CONVERT(? USING ascii), waiters) > 0
