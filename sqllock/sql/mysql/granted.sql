-- Parameters: namespace, name, nonce. The names are in hexadecimal digits.
-- Result: one row if the lock is granted to the nonce, else none: its token.
-- Promise: reads only, and waits for nobody. For statements that have granted and whose LAST_INSERT_ID a trigger has hidden.
SELECT l.token
  FROM rowlock_lease AS l
 WHERE l.namespace = UNHEX(?) AND l.name = UNHEX(?) AND l.nonce = ?
