-- Parameters: name, amount.
-- Result: none.
-- Promise: adds one amount.
INSERT INTO rowlock_demo (name, amount)
VALUES (?, ?)
