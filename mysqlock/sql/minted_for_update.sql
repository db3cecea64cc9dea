-- Parameters: none.
-- Result: the row of minted.sql. Error 3572 (MySQL) or 1205 (MariaDB) if another transaction has locked the row.
-- Promise: locks the row until the transaction ends. Does not wait for another transaction.
SELECT /*+ SET_VAR(lock_wait_timeout = 1) */ m.run, m.number, m.token, m.reserved
  FROM rowlock_lease_mint AS m
 WHERE m.id = 1
   FOR UPDATE NOWAIT
