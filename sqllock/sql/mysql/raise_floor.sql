-- Parameters: the largest token that is about to be forgotten.
-- Result: none.
-- Promise: committed before a row with that token is deleted, and never lowered; waits for the inserts that have read the floor.
UPDATE rowlock_lease_meta
   SET floor = GREATEST(floor, ?)
 WHERE id = 1
