-- Parameters: in this order: the nonce of the writer's request, three times; how long readers are refused, in microseconds; namespace; name. Names are in base64.
-- Result: one row changed if the lock is shared. Error 1205: another transaction has locked the row.
-- Promise: records that this writer waits, so that no further reader is granted a share, unless forget_writer.sql runs for this writer and for every other writer that waits. A hundred writers are recorded at most. The readers also wait for a further writer, but forget_writer.sql cannot remove it. The statement waits for no other transaction. An expression reads only columns that are assigned with it or after it, so it reads their old values.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_lease
   SET writers = IF(writer_until > UTC_TIMESTAMP(6), LEFT(CONCAT_WS(',', NULLIF(SUBSTRING(REPLACE(CONCAT(',', writers), CONCAT(',', ?), x''), 2), x''), ?), 3699), ?),
       writer_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?)
   AND readers IS NOT NULL AND held_until > UTC_TIMESTAMP(6)
