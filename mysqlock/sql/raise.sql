-- Parameters: namespace and name in hexadecimal digits, token.
-- Result: the number of rows affected.
-- Promise: raises the token if it is still that one, so that its holder is fenced.
UPDATE rowlock_lease_counter
   SET token = GREATEST(token + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
 WHERE namespace = UNHEX(?) AND name = UNHEX(?) AND token = ?
