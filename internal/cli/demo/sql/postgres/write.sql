-- Parameters: $1 amount, $2 name.
-- Result: none.
-- Promise: writes over whatever is there, as a program does that has computed the new amount itself.
UPDATE rowlock_demo
   SET amount = $1
 WHERE name::text = $2::text
