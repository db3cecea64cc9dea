-- Parameters: a new token; namespace and name in base64; the token of the grant that was ended.
-- Result: the number of rows affected.
-- Promise: stores the new token if the row still has the token of the ended grant.
UPDATE /*+ SET_VAR(lock_wait_timeout = 1) */ rowlock_lease_counter
   SET token = ?
 WHERE namespace = FROM_BASE64(?) AND name = FROM_BASE64(?) AND token = ?
