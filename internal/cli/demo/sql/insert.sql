-- Parameters: name, amount. Result: none. Promise: inserts one row with an amount.
INSERT INTO rowlock_demo (name, amount)
VALUES (?, ?)
