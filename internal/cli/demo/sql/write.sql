-- Parameters: amount, name.
-- Result: none.
-- Promise: writes over whatever is there, as a program does that has computed the new amount itself.
UPDATE rowlock_demo
   SET amount = ?
 WHERE name = ?
