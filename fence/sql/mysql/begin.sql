-- Parameters: none.
-- Result: none.
-- Promise: ends a transaction that is open, and commits it.
START TRANSACTION
