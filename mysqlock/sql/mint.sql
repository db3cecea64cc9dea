-- Parameters: the run of the server; the number and the token with which it begins; the largest token that is reserved.
-- Result: none.
-- Promise: changes only the row that minted_for_update.sql has locked.
UPDATE rowlock_lease_mint SET run = ?, number = ?, token = ?, reserved = ? WHERE id = 1
