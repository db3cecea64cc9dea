-- Parameters: $1 amount, $2 name.
-- Result: none.
-- Promise: overwrites the amount, like a program that has computed the new amount itself.
UPDATE rowlock_demo
   SET amount = $1
 WHERE name::text = $2::text
