-- Parameters: none.
-- Result: none.
-- Promise: ends the transaction and undoes it.
ROLLBACK
