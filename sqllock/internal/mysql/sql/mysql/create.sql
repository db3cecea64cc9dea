-- Parameters: in this order: namespace; name. Both are in base64.
-- Result: one row inserted. Error 1062: the row exists already.
-- Promise: inserts the missing row of a lock, without a grant. The token of the row is the floor, so that the first granted token is larger than any pruned token.
/*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
INSERT /*+ SET_VAR(lock_wait_timeout = 1) */ INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
SELECT FROM_BASE64(?), FROM_BASE64(?), m.floor, NULL, x'', x'', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00'
  FROM rowlock_lease_meta AS m
 WHERE m.id = 1
   /*!80000 FOR SHARE */ /*M! LOCK IN SHARE MODE */
