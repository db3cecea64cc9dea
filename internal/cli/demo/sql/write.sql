-- Parameters: amount, name.
-- Result: none.
-- Promise: overwrites the amount, like a program that has computed the new amount itself.
UPDATE rowlock_demo
   SET amount = ?
 WHERE name = ?
