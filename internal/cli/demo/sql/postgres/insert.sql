-- Parameters: $1 name, $2 amount.
-- Result: none.
-- Promise: adds one amount.
INSERT INTO rowlock_demo (name, amount)
VALUES ($1, $2)
