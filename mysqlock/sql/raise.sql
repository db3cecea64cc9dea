-- Parameters: namespace and name in base64, token.
-- Result: the number of rows affected.
-- Promise: raises the stored token if it still equals the given token, so that the holder of that token is fenced.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_counter
   SET token = GREATEST(token + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
