-- Parameters: $1 name, $2 amount. Result: none. Promise: inserts one row with an amount.
INSERT INTO rowlock_demo (name, amount)
VALUES ($1, $2)
