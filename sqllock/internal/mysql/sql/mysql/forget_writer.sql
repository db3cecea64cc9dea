-- Parameters: in this order: the nonce of the writer's request, twice; namespace; name; the nonce. On MySQL, namespace and name follow once more. Names are in base64.
-- Result: one row changed if this writer kept out readers. If no row changed, writer_forgotten.sql reads the reason. Error 1205 (MariaDB): another transaction has locked the row.
-- Promise: this writer, which has given up, keeps out no reader any longer. Other writers that wait still do. The statement waits for no other transaction. An expression reads only columns that are assigned after it, so it reads their old values.
/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease
   SET writer_until = IF(writers = ?, NULL, writer_until),
       writers = NULLIF(SUBSTRING(REPLACE(CONCAT(',', writers), CONCAT(',', ?), x''), 2), x'')
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND FIND_IN_SET(CONVERT(? USING ascii), writers) > 0
   /*!80000 AND (SELECT idle.one FROM (
           SELECT 1 AS one
             FROM rowlock_lease AS r
            WHERE r.namespace = FROM_BASE64(?) AND r.name = FROM_BASE64(?)
            LIMIT 1
              FOR UPDATE SKIP LOCKED) AS idle) = 1 */
