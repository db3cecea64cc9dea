-- Parameters: the minimum age of the last grant, in microseconds; the schema in base64.
-- Result: the number of rows affected.
-- Promise: deletes only rows of free locks. Tokens do not depend on these rows.
DELETE /*+ SET_VAR(lock_wait_timeout = 1) */ FROM rowlock_lease_counter
 WHERE granted_at <= UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND
   AND IS_USED_LOCK(CONCAT('rowlock:', LEFT(SHA2(CONCAT(FROM_BASE64(?), 0x00, namespace, 0x00, name), 256), 56))) IS NULL
 LIMIT 1000
