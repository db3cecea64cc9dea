-- Parameters: none.
-- Result: the row of minted.sql.
-- Promise: locks the row until the transaction ends.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) SET_VAR(innodb_lock_wait_timeout = 1) */ m.run, m.number, m.token, m.reserved
  FROM rowlock_lease_mint AS m
 WHERE m.id = 1
   FOR UPDATE
